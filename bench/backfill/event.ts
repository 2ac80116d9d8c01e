import {
  type AbiEvent,
  type AbiParameter,
  encodeAbiParameters,
  type Hex,
  parseAbiItem,
  toEventSelector,
} from "viem";
import type { GeneratedLog } from "./chain.ts";
import { hashOf } from "./made-up.ts";

/** Makes logs of one event: `values` are its arguments in the order of the declaration. */
export type LogMaker = (address: Hex, ...values: readonly unknown[]) => GeneratedLog;

/** The maker of an event's logs, from its declaration (`NewTTL(bytes32 indexed node, uint64 ttl)`). */
export function eventOf(declaration: string): LogMaker {
  const event = parseAbiItem([`event ${declaration}`] as readonly string[]) as AbiEvent;
  const selector = toEventSelector(event);
  const inData = event.inputs.filter(({ indexed }) => !indexed);
  return (address, ...values) => {
    const topics = [selector];
    const told: unknown[] = [];
    for (const [place, input] of event.inputs.entries()) {
      if (input.indexed) topics.push(topicOf(input, values[place]));
      else told.push(values[place]);
    }
    return { address, topics, data: encodeAbiParameters(inData, told) };
  };
}

// Solidity: an indexed string is told as its hash.
function topicOf(input: AbiParameter, value: unknown): Hex {
  return input.type === "string" ? hashOf(value as string) : encodeAbiParameters([input], [value]);
}
