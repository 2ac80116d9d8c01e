import type { Namespace } from "../deployments/deployment.ts";
import { lineanames } from "../deployments/lineanames.ts";
import { registerNames } from "../handlers/names.ts";
import type { EventsOf } from "../handlers/on.ts";

/** Registers the handlers of the plugin `lineanames`: the deployment on Linea. */
export function registerLineanames(events: EventsOf, namespace: Namespace): void {
  registerNames(events, namespace, lineanames);
}
