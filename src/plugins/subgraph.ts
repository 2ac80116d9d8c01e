import type { Namespace } from "../deployments/deployment.ts";
import { ens } from "../deployments/ens.ts";
import { registerNames } from "../handlers/names.ts";
import type { EventsOf } from "../handlers/on.ts";

/** Registers the handlers of the plugin `subgraph`: the ENS contracts of the root chain. */
export function registerSubgraph(events: EventsOf, namespace: Namespace): void {
  registerNames(events, namespace, ens);
}
