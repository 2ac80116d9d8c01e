import { registerNameWrapper } from "../contracts/name-wrapper.ts";
import { type IsSource, onSources } from "../contracts/on.ts";
import { registerRegistry } from "../contracts/registry.ts";
import { registerDnsResolver, registerResolver } from "../contracts/resolver.ts";
import { emittedString } from "../ens/event-strings.ts";
import { tokenIdToHex } from "../ens/nodes.ts";
import {
  type ManagedName,
  recordControllerLabel,
  recordNameRegistered,
  recordNameRenewed,
  recordNameTransferred,
} from "../indexing/registrar.ts";
import { type Settings, scopeOf } from "../indexing/scope.ts";

/** Registers the indexing functions of the plugin `lineanames`: the deployment on Linea, whose names end in `managed`. */
export function registerLineanames(
  settings: Settings,
  { isSource, managed }: { isSource: IsSource; managed: ManagedName },
): void {
  const on = onSources(isSource);

  registerRegistry(on, settings, "lineanames/Registry", { isOldRegistry: false });

  on("lineanames/BaseRegistrar:NameRegistered", ({ context, event }) =>
    recordNameRegistered(scopeOf(settings, context, event), {
      managed,
      labelhash: tokenIdToHex(event.args.id),
      owner: event.args.owner,
      expires: event.args.expires,
    }),
  );
  on("lineanames/BaseRegistrar:NameRenewed", ({ context, event }) =>
    recordNameRenewed(scopeOf(settings, context, event), {
      managed,
      labelhash: tokenIdToHex(event.args.id),
      expires: event.args.expires,
    }),
  );
  on("lineanames/BaseRegistrar:Transfer", ({ context, event }) =>
    recordNameTransferred(scopeOf(settings, context, event), {
      managed,
      labelhash: tokenIdToHex(event.args.tokenId),
      to: event.args.to,
    }),
  );

  // In all events of the controller the argument `name` is the label and `label` its hash.
  on("lineanames/EthRegistrarController:NameRegistered", ({ context, event }) =>
    recordControllerLabel(scopeOf(settings, context, event), {
      managed,
      labelhash: event.args.label,
      label: emittedString(event.log.data, 0, event.args.name),
      cost: event.args.baseCost + event.args.premium,
    }),
  );
  on("lineanames/EthRegistrarController:NameRenewed", ({ context, event }) =>
    recordControllerLabel(scopeOf(settings, context, event), {
      managed,
      labelhash: event.args.label,
      label: emittedString(event.log.data, 0, event.args.name),
      cost: event.args.cost,
    }),
  );
  // Registrations by the owner and those for a proof of humanity are free.
  for (const event of ["OwnerNameRegistered", "PohNameRegistered"] as const) {
    on(`lineanames/EthRegistrarController:${event}`, ({ context, event }) =>
      recordControllerLabel(scopeOf(settings, context, event), {
        managed,
        labelhash: event.args.label,
        label: emittedString(event.log.data, 0, event.args.name),
        cost: 0n,
      }),
    );
  }

  registerNameWrapper(on, settings, "lineanames/NameWrapper", managed);
  registerResolver(on, settings, "lineanames/Resolver");
  registerDnsResolver(on, settings, "lineanames/DNSResolver");
}
