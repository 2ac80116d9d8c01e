import { ponder } from "ponder:registry";
import type { AbiEvent } from "viem";
import { readConfig } from "../../../../src/config/environment.ts";
import { contractSources } from "../../../../src/config/sources.ts";

// The ceiling: an indexing function that does nothing for every event that the real ones handle.
const register = ponder.on.bind(ponder) as (name: string, handler: () => Promise<void>) => void;

for (const [source, contract] of Object.entries(contractSources(readConfig()))) {
  const abi = contract.abi as readonly AbiEvent[];
  for (const { name, inputs } of abi) {
    const isOverloaded = abi.filter((item) => item.name === name).length > 1;
    const types = inputs.map((input) => `${input.type}${input.indexed ? " indexed" : ""} ${input.name}`);
    register(`${source}:${isOverloaded ? `${name}(${types.join(", ")})` : name}`, async () => {});
  }
}
