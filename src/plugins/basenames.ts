import { basenames } from "../deployments/basenames.ts";
import type { Namespace } from "../deployments/deployment.ts";
import type { EventsOf } from "../handlers/on.ts";
import { registerBaseRegistrars, registerControllers } from "../handlers/registrar.ts";
import { registerRegistries } from "../handlers/registry.ts";
import { registerResolvers } from "../handlers/resolver.ts";

/** Registers the indexing functions of the plugin `basenames`: the deployment on Base. */
export function registerBasenames(events: EventsOf, namespace: Namespace): void {
  registerRegistries(events, namespace, basenames);
  registerBaseRegistrars(events, namespace, basenames);
  registerControllers(events, namespace, basenames);
  registerResolvers(events, namespace, basenames);
}
