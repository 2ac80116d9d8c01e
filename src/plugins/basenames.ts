import type { EventsOf } from "../contracts/on.ts";
import { registerBaseRegistrars, registerControllers } from "../contracts/registrar.ts";
import { registerRegistries } from "../contracts/registry.ts";
import { registerResolvers } from "../contracts/resolver.ts";
import { basenames } from "../deployments/basenames.ts";
import type { Namespace } from "../deployments/deployment.ts";

/** Registers the indexing functions of the plugin `basenames`: the deployment on Base. */
export function registerBasenames(events: EventsOf, namespace: Namespace): void {
  registerRegistries(events, namespace, basenames);
  registerBaseRegistrars(events, namespace, basenames);
  registerControllers(events, namespace, basenames);
  registerResolvers(events, namespace, basenames);
}
