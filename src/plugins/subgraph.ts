import type { Namespace } from "../deployments/deployment.ts";
import { ens } from "../deployments/ens.ts";
import type { EventsOf } from "../handlers/on.ts";
import { registerBaseRegistrars, registerControllers } from "../handlers/registrar.ts";
import { registerNameWrappers, registerRegistries } from "../handlers/registry.ts";
import { registerResolvers } from "../handlers/resolver.ts";

/** Registers the indexing functions of the plugin `subgraph`: the ENS contracts of the root chain. */
export function registerSubgraph(events: EventsOf, namespace: Namespace): void {
  registerRegistries(events, namespace, ens);
  registerBaseRegistrars(events, namespace, ens);
  registerControllers(events, namespace, ens);
  registerNameWrappers(events, namespace, ens);
  registerResolvers(events, namespace, ens);
}
