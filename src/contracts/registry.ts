import {
  recordNewOwner,
  recordNewResolver,
  recordNewTtl,
  recordRegistryTransfer,
} from "../indexing/registry.ts";
import { type Settings, scopeOf } from "../indexing/scope.ts";
import type { On } from "./on.ts";

type RegistrySource =
  | "subgraph/ENSv1RegistryOld"
  | "subgraph/ENSv1Registry"
  | "basenames/Registry"
  | "lineanames/Registry";

/** Registers the events of a registry; `isOldRegistry` is the root chain's first one. */
export function registerRegistry(
  on: On,
  settings: Settings,
  source: RegistrySource,
  { isOldRegistry }: { isOldRegistry: boolean },
): void {
  on(`${source}:NewOwner`, ({ context, event }) =>
    recordNewOwner(scopeOf(settings, context, event), {
      parentNode: event.args.node,
      labelhash: event.args.label,
      owner: event.args.owner,
      isOldRegistry,
    }),
  );
  on(`${source}:Transfer`, ({ context, event }) =>
    recordRegistryTransfer(scopeOf(settings, context, event), {
      node: event.args.node,
      owner: event.args.owner,
      isOldRegistry,
    }),
  );
  on(`${source}:NewResolver`, ({ context, event }) =>
    recordNewResolver(scopeOf(settings, context, event), {
      node: event.args.node,
      resolver: event.args.resolver,
      isOldRegistry,
    }),
  );
  on(`${source}:NewTTL`, ({ context, event }) =>
    recordNewTtl(scopeOf(settings, context, event), {
      node: event.args.node,
      ttl: event.args.ttl,
      isOldRegistry,
    }),
  );
}
