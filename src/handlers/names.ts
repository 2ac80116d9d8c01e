import type { Deployment, Namespace } from "../deployments/deployment.ts";
import type { EventsOf } from "./on.ts";
import { registerBaseRegistrars, registerControllers } from "./registrar.ts";
import { registerNameWrappers, registerRegistries } from "./registry.ts";
import { registerResolvers } from "./resolver.ts";

/** Registers the handlers of a deployment's names: those of its contracts, by role. */
export function registerNames(events: EventsOf, namespace: Namespace, deployment: Deployment): void {
  registerRegistries(events, namespace, deployment);
  registerBaseRegistrars(events, namespace, deployment);
  registerControllers(events, namespace, deployment);
  registerNameWrappers(events, namespace, deployment);
  registerResolvers(events, namespace, deployment);
}
