import { tokenIdToHex } from "../ens/nodes.ts";
import {
  recordExpiryExtended,
  recordFusesSet,
  recordNameUnwrapped,
  recordNameWrapped,
  recordWrappedTransfer,
} from "../indexing/name-wrapper.ts";
import type { ManagedName } from "../indexing/registrar.ts";
import { type Settings, scopeOf } from "../indexing/scope.ts";
import type { On } from "./on.ts";

type NameWrapperSource = "subgraph/NameWrapper" | "lineanames/NameWrapper";

/** Registers the events of a name wrapper; `managed` is the name whose direct subnames keep their expiry when unwrapped. */
export function registerNameWrapper(
  on: On,
  settings: Settings,
  source: NameWrapperSource,
  managed: ManagedName,
): void {
  on(`${source}:NameWrapped`, ({ context, event }) =>
    recordNameWrapped(scopeOf(settings, context, event), event.args),
  );
  on(`${source}:NameUnwrapped`, ({ context, event }) =>
    recordNameUnwrapped(scopeOf(settings, context, event), { ...event.args, managedNode: managed.node }),
  );
  on(`${source}:FusesSet`, ({ context, event }) =>
    recordFusesSet(scopeOf(settings, context, event), event.args),
  );
  on(`${source}:ExpiryExtended`, ({ context, event }) =>
    recordExpiryExtended(scopeOf(settings, context, event), event.args),
  );
  on(`${source}:TransferSingle`, ({ context, event }) =>
    recordWrappedTransfer(scopeOf(settings, context, event), {
      node: tokenIdToHex(event.args.id),
      to: event.args.to,
      place: 0,
    }),
  );
  on(`${source}:TransferBatch`, async ({ context, event }) => {
    const scope = scopeOf(settings, context, event);
    const { ids, to } = event.args;
    for (const [place, id] of ids.entries()) {
      await recordWrappedTransfer(scope, { node: tokenIdToHex(id), to, place });
    }
  });
}
