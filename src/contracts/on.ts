import { ponder } from "ponder:registry";
import { type Abi, type AbiEvent, type Hex, type ParseAbiItem, parseAbiItem } from "viem";
import type { EventArgs, EventName, EventOf } from "../deployments/deployment.ts";
import { type Args, type PlacedString, withEmittedStrings } from "../ens/event-strings.ts";
import type { Scope, Settings } from "../indexing/scope.ts";
import { type PonderContext, type PonderEvent, scopeOf } from "./create-scope.ts";

/** An event of an ABI: its name, or where several have that name its full signature with `indexed` and argument names. */
type EventKey<A extends Abi> = EventName<A> | `${EventName<A>}(${string})`;

type ArgsOf<A extends Abi, Key extends string> = Key extends `${string}(${string}`
  ? EventArgs<Extract<ParseAbiItem<`event ${Key}`>, AbiEvent>>
  : EventArgs<EventOf<A, Key>>;

/** Registers the rule of one event of a contract entry. Strings come as emitted; see `emittedString`. */
export type On<A extends Abi> = <const Key extends EventKey<A>>(
  event: Key,
  rule: (scope: Scope, args: ArgsOf<A, Key>) => unknown,
) => void;

/** `On` for a contract entry, by its key. With an `emitter` (lower case) only that contract's logs count. */
export type EventsOf = <const A extends Abi>(source: string, abi: A, emitter?: Hex) => On<A>;

type Input = {
  context: PonderContext;
  event: PonderEvent & { args: Args; log: { topics: Topics; data: Hex } };
};
type Topics = readonly (Hex | null | undefined)[];

// ponder: its own types know the entries of one fixed configuration only.
const register = (name: string, handler: (input: Input) => unknown): void =>
  (ponder.on as unknown as (name: string, handler: (input: Input) => unknown) => void)(name, handler);

/** `ponder.on` for rules: gives them their scope, ignoring unconfigured sources and logs that are not the declared event. */
export function bindRules(settings: Settings, isSource: (source: string) => boolean): EventsOf {
  return (source, abi, emitter) => (event, rule) => {
    if (!isSource(source)) return;
    const { topics, strings } = shapeOf(abi, event);
    const apply = rule as (scope: Scope, args: Args) => unknown;
    register(`${source}:${event}`, ({ context, event }) => {
      const { log } = event;
      // Any contract may emit these. A log with other topics than declared is another event of the same signature.
      if (topicCount(log.topics) !== topics) return;
      if (emitter !== undefined && log.address.toLowerCase() !== emitter) return;
      const args = strings.length === 0 ? event.args : withEmittedStrings(log.data, event.args, strings);
      return apply(scopeOf(settings, context, event), args);
    });
  };
}

// How many topics the event has, and which of its arguments outside of topics are strings.
function shapeOf(abi: Abi, key: string): { topics: number; strings: PlacedString[] } {
  const item = key.includes("(")
    ? (parseAbiItem(`event ${key}` as "event X()") as AbiEvent)
    : abi.find((one) => one.type === "event" && one.name === key);
  if (item?.type !== "event") throw new Error(`The ABI has no event ${key}.`);
  const inputs = item.inputs.filter(({ indexed }) => !indexed);
  return {
    topics: 1 + item.inputs.length - inputs.length,
    strings: inputs.flatMap(({ type, name }, place) => (type === "string" && name ? [{ name, place }] : [])),
  };
}

// ponder: a missing topic is null.
function topicCount(topics: Topics): number {
  let count = 0;
  for (const topic of topics) if (topic !== null && topic !== undefined) count++;
  return count;
}
