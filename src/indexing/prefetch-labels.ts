import type { Hex } from "viem";
import type { EventAhead } from "../ponder/shared.ts";

/**
 * Labelhashes that the handlers of these events will heal. NewOwner has them all: events of registrars and controllers
 * repeat them.
 */
export function listLabelhashes(events: readonly EventAhead[]): Hex[] {
  const found: Hex[] = [];
  for (const { eventCallback, event } of events) {
    const label = eventCallback.name.endsWith(":NewOwner") ? event?.args?.["label"] : undefined;
    if (typeof label === "string" && label.startsWith("0x")) found.push(label as Hex);
  }
  return found;
}
