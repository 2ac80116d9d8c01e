import type { Hex } from "viem";
import type { EventAhead } from "../ponder/shared.ts";

/**
 * Labelhashes whose labels the handlers of these events will ask for: registries announce a name by its labelhash alone, and what
 * controllers emit later is looked up by the same.
 */
export function labelhashesOf(events: readonly EventAhead[]): Hex[] {
  const found: Hex[] = [];
  for (const { eventCallback, event } of events) {
    const label = eventCallback.name.endsWith(":NewOwner") ? event?.args?.["label"] : undefined;
    if (typeof label === "string" && label.startsWith("0x")) found.push(label as Hex);
  }
  return found;
}
