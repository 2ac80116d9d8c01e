import type { Namespace } from "../deployments/deployment.ts";
import { ens } from "../deployments/ens.ts";
import { registerNames } from "../handlers/names.ts";
import type { EventsOf } from "../handlers/on.ts";

// Each file of this folder is a plugin: it binds events to handlers and renames arguments. The handlers are in
// src/indexing and src/handlers.

/** Registers the handlers of the plugin `subgraph`: the ENS contracts of the root chain. */
export function registerSubgraph(events: EventsOf, namespace: Namespace): void {
  registerNames(events, namespace, ens);
}
