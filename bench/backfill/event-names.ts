import type { Abi, AbiEvent } from "viem";

/** The events of an ABI by Ponder's names for them: the full signature if several share a name. */
export function eventNames(abi: Abi): [name: string, event: AbiEvent][] {
  const events = abi.filter((item) => item.type === "event");
  return events.map((event) => {
    const isOverloaded = events.filter(({ name }) => name === event.name).length > 1;
    const inputs = event.inputs.map(
      ({ type, indexed, name }) => `${type}${indexed ? " indexed" : ""} ${name}`,
    );
    return [isOverloaded ? `${event.name}(${inputs.join(", ")})` : event.name, event];
  });
}
