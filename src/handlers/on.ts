import { ponder } from "ponder:registry";
import { type Abi, type AbiEvent, type Hex, type ParseAbiItem, parseAbiItem } from "viem";
import type { EventArgs, EventName, EventOf } from "../deployments/deployment.ts";
import { namespaceOfPlugin } from "../deployments/namespaces.ts";
import { type Args, argumentReader, withEmittedStrings } from "../ens/event-arguments.ts";
import type { Client, HandlerDatabase, Scope, Settings } from "../indexing/scope.ts";

// How handlers get their events: decoded, with a scope, by contract role. What handlers do with an event is in
// src/indexing, and which deployment has which contracts is in src/deployments.

/**
 * An event of an ABI: its name, or its full signature with `indexed` and argument names if several events share the
 * name.
 */
type EventKey<A extends Abi> = EventName<A> | `${EventName<A>}(${string})`;

type ArgsOf<A extends Abi, Key extends string> = Key extends `${string}(${string}`
  ? EventArgs<Extract<ParseAbiItem<`event ${Key}`>, AbiEvent>>
  : EventArgs<EventOf<A, Key>>;

/** Registers the handler of an event of a contract entry. Strings come as emitted; see `withEmittedStrings`. */
export type On<A extends Abi> = <const Key extends EventKey<A>>(
  event: Key,
  handler: (scope: Scope, args: ArgsOf<A, Key>) => unknown,
) => void;

/** `On` for a contract entry, by its key. With an `emitter` (lower case), only that contract's logs count. */
export type EventsOf = <const A extends Abi>(source: string, abi: A, emitter?: Hex) => On<A>;

type RawArgs<T> = { [Name in keyof T]: string extends T[Name] ? Hex : T[Name] };

/**
 * `EventsOf` for events that any contract may emit: strings come as bytes in hex, and a log that is not the event is
 * reported.
 */
export type LogsOf = <const A extends Abi>(
  source: string,
  abi: A,
) => <const Name extends EventName<A>>(
  event: Name,
  handler: (scope: Scope, args: RawArgs<EventArgs<EventOf<A, Name>>>) => unknown,
) => void;

type PonderEvent = {
  id: string;
  block: { number: bigint; timestamp: bigint };
  transaction: { hash: Hex; from: Hex; to?: Hex | null | undefined };
  log: { address: Hex; logIndex: number };
};

type PonderContext = { db: HandlerDatabase; chain: { id: number }; client: Client };

// Values are copied: Ponder reuses event and context for the next event.
function buildScope(
  settings: Settings,
  namespace: string,
  context: PonderContext,
  { id, block, transaction, log }: PonderEvent,
): Scope {
  return {
    ...settings,
    db: context.db,
    chainId: context.chain.id,
    namespace,
    eventId: id,
    blockNumber: Number(block.number),
    timestamp: block.timestamp,
    transactionHash: transaction.hash,
    sender: transaction.from,
    recipient: transaction.to?.toLowerCase() as Hex | undefined,
    logIndex: log.logIndex,
    emitter: log.address.toLowerCase() as Hex,
    client: context.client,
  };
}

// An entry's key begins with its plugin.
const findNamespace = (source: string) => namespaceOfPlugin(source.split("/")[0] ?? "");

type Input = {
  context: PonderContext;
  event: PonderEvent & { args: Args; log: { topics: Topics; data: Hex } };
};
type Topics = readonly (Hex | null | undefined)[];

// ponder: its types know only the entries of one fixed configuration.
const register = (name: string, handler: (input: Input) => unknown): void =>
  (ponder.on as unknown as (name: string, handler: (input: Input) => unknown) => void)(name, handler);

/** Reads an event's arguments; returns undefined for a log that is ignored, an anomaly for one that is reported. */
type Read = (event: Input["event"]) => Args | undefined | "malformed-log";
type IsSource = (source: string) => boolean;

/**
 * `ponder.on` for handlers, which get a scope. Ignores unconfigured sources and logs that are not the declared event.
 */
export function registerHandlers(settings: Settings, isSource: IsSource): EventsOf {
  return buildRegistration(settings, isSource, ({ inputs }, emitter) => {
    const plain = inputs.filter(({ indexed }) => !indexed);
    const topics = 1 + inputs.length - plain.length;
    const strings = plain.flatMap(({ type, name }, index): [string, number][] =>
      type === "string" && name ? [[name, index]] : [],
    );
    return ({ args, log }) => {
      // Any contract may emit these. A log with other topics is another event of the same signature.
      if (countTopics(log.topics) !== topics) return undefined;
      if (emitter !== undefined && log.address.toLowerCase() !== emitter) return undefined;
      return withEmittedStrings(log.data, args, strings);
    };
  });
}

/** Registers handlers that read their logs strictly; see `LogsOf`. */
export function registerStrictHandlers(settings: Settings, isSource: IsSource): LogsOf {
  return buildRegistration(settings, isSource, (item) => {
    const read = argumentReader(item);
    return ({ log }) => read(log.topics, log.data) ?? "malformed-log";
  });
}

function buildRegistration(
  settings: Settings,
  isSource: IsSource,
  readerOf: (item: AbiEvent, emitter: Hex | undefined) => Read,
) {
  return (source: string, abi: Abi, emitter?: Hex) =>
    (event: string, handler: (scope: Scope, args: never) => unknown) => {
      if (!isSource(source)) return;
      const read = readerOf(findEvent(abi, event), emitter);
      const namespace = findNamespace(source);
      register(`${source}:${event}`, ({ context, event }) => {
        const args = read(event);
        if (args === undefined) return;
        const scope = buildScope(settings, namespace, context, event);
        return args === "malformed-log" ? scope.report(args, scope) : handler(scope, args as never);
      });
    };
}

function findEvent(abi: Abi, key: string): AbiEvent {
  const item = key.includes("(")
    ? (parseAbiItem(`event ${key}` as "event X()") as AbiEvent)
    : abi.find((one) => one.type === "event" && one.name === key);
  if (item?.type !== "event") throw new Error(`The ABI has no event ${key}.`);
  return item;
}

// ponder: a missing topic is null.
function countTopics(topics: Topics): number {
  let count = 0;
  for (const topic of topics) if (topic !== null && topic !== undefined) count++;
  return count;
}
