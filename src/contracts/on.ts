import { ponder } from "ponder:registry";
import type { Hex } from "viem";

/** Registers an indexing function for `<source>:<Event>`. */
export type On = typeof ponder.on;

/** Tells whether the configuration has a contract entry. */
export type IsSource = (source: string) => boolean;

/** Ponder's `on`, which refuses sources that the configuration lacks, without those. */
export function onSources(isSource: IsSource): On {
  return (name, handler) => {
    if (isSource(name.slice(0, name.indexOf(":")))) ponder.on(name, handler);
  };
}

/** `on` for the events of one contract where its source brings those of others too; `address` in lower case. */
export function onContract(on: On, address: Hex | undefined): On {
  if (address === undefined) return on;
  return (name, handler) =>
    on(name, async (input) => {
      if (input.event.log.address.toLowerCase() === address) await handler(input);
    });
}
