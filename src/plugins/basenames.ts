import { basenames } from "../deployments/basenames.ts";
import type { Namespace } from "../deployments/deployment.ts";
import { registerNames } from "../handlers/names.ts";
import type { EventsOf } from "../handlers/on.ts";

/** Registers the handlers of the plugin `basenames`: the deployment on Base. */
export function registerBasenames(events: EventsOf, namespace: Namespace): void {
  registerNames(events, namespace, basenames);
}
