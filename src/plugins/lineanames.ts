import type { Namespace } from "../deployments/deployment.ts";
import { lineanames } from "../deployments/lineanames.ts";
import type { EventsOf } from "../handlers/on.ts";
import { registerBaseRegistrars, registerControllers } from "../handlers/registrar.ts";
import { registerNameWrappers, registerRegistries } from "../handlers/registry.ts";
import { registerResolvers } from "../handlers/resolver.ts";

/** Registers the indexing functions of the plugin `lineanames`: the deployment on Linea. */
export function registerLineanames(events: EventsOf, namespace: Namespace): void {
  registerRegistries(events, namespace, lineanames);
  registerBaseRegistrars(events, namespace, lineanames);
  registerControllers(events, namespace, lineanames);
  registerNameWrappers(events, namespace, lineanames);
  registerResolvers(events, namespace, lineanames);
}
