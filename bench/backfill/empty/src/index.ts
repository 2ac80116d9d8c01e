import { ponder } from "ponder:registry";
import type { Abi } from "viem";
import { readConfig } from "../../../../src/config/environment.ts";
import { contractSources } from "../../../../src/config/sources.ts";

// The ceiling: an indexing function that does nothing for every event that the real ones handle.
const register = ponder.on.bind(ponder) as (name: string, handler: () => Promise<void>) => void;

for (const [source, { abi }] of Object.entries(contractSources(readConfig()))) {
  for (const name of eventNames(abi)) register(`${source}:${name}`, async () => {});
}

// The events of an ABI by Ponder's names for them: the full signature if several share a name.
function eventNames(abi: Abi): string[] {
  const events = abi.filter((item) => item.type === "event");
  return events.map((event) => {
    const isOverloaded = events.filter(({ name }) => name === event.name).length > 1;
    const inputs = event.inputs.map(
      ({ type, indexed, name }) => `${type}${indexed ? " indexed" : ""} ${name}`,
    );
    return isOverloaded ? `${event.name}(${inputs.join(", ")})` : event.name;
  });
}
