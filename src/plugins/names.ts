import type { Deployment, Namespace } from "../deployments/deployment.ts";
import type { EventsOf } from "../handlers/on.ts";
import { registerBaseRegistrars, registerControllers } from "../handlers/registrar.ts";
import { registerNameWrappers, registerRegistries } from "../handlers/registry.ts";
import { registerResolvers } from "../handlers/resolver.ts";

/** Registers the indexing functions of a deployment's own plugin: the events of its contracts, by role. */
export function registerNames(events: EventsOf, namespace: Namespace, deployment: Deployment): void {
  registerRegistries(events, namespace, deployment);
  registerBaseRegistrars(events, namespace, deployment);
  registerControllers(events, namespace, deployment);
  registerNameWrappers(events, namespace, deployment);
  registerResolvers(events, namespace, deployment);
}
