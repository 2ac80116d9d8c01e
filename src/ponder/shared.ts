/** An event that handlers get soon: `<contract entry>:<event>` and its arguments. */
export type EventAhead = {
  eventCallback: { name: string };
  event?: { args?: Readonly<Record<string, unknown>> };
  /** Position of the event, which begins with ten digits of the block's time. */
  checkpoint?: string;
};

/** The position of an event that a handler skipped or repaired, to find it on any explorer. */
type EventReference = { chainId: number; transactionHash: string; logIndex: number };

/** Blocks of a chain, both ends included. */
type Range = { from: number; to: number };

/** A JSON-RPC request. */
export type RpcBody = { method: string; params: readonly unknown[] };
type Inserted = { request: RpcBody; blockNumber: number | undefined; result: string };

/** Ponder's store of results of calls. */
export type ResultStore = {
  getRpcRequestResults(
    of: { requests: RpcBody[]; chainId: number },
    ...context: unknown[]
  ): Promise<(string | undefined)[]>;
  insertRpcRequestResults(
    of: { requests: Inserted[]; chainId: number },
    ...context: unknown[]
  ): Promise<void>;
};

/** Results of calls from elsewhere, by key and block; undefined where there is none. */
export type OtherResults = (key: string, blockNumber: number) => Promise<string | undefined>;

type AnyRow = Readonly<Record<string, unknown>>;

/**
 * A backfill keeps rows as they were before a change after `from` (Unix seconds): those of `tables`, in tables of
 * `schema`.
 */
export type KeptPast = { from: number; schema: string; tables: ReadonlySet<string> };

/** Gives rows of a table the labels that have become known. */
export type HealRows = (table: string, rows: readonly AnyRow[]) => Promise<readonly AnyRow[]>;

/**
 * A block that Ponder asks for at a start, in hexadecimal. `newest`: of a final block, the number of the newest block
 * when it became final.
 */
export type StartBlock = {
  number: string;
  hash: string;
  parentHash: string;
  timestamp: string;
  newest?: string;
};

/** State shared by the parts of this process. */
export type Shared = {
  /** The last events of each kind of anomaly, newest first: from the handlers, for the API. */
  examples: Map<string, readonly EventReference[]>;
  /** The archives in front of RPC URLs, by chain name: for the status page. */
  archives: Map<string, string>;
  /** What is taken on trust, by chain name: from the checks of responses and archives, for the status page. */
  believed: Map<string, Set<string>>;
  /** Unverified ranges by chain id: from the checks of responses, for the API. */
  unverified: Map<number, readonly Range[]>;
  /** Stores the current unverified ranges. */
  storeUnverified?: () => Promise<void>;
  /** The store of results of calls once Ponder has made it. */
  resultStore?: ResultStore;
  /** Results from archives, by chain id. */
  otherResults: Map<number, OtherResults>;
  /** Milliseconds for which the chains wait for one that has no new block. */
  chainPauseMs: number;
  /** Ids of the chains that are left out of the order of all chains. */
  awayChains: Set<number>;
  /** Ids of the chains whose nodes did not respond at the start. */
  silentChains: Set<number>;
  /** Keeps the blocks of a chain that the next start asks for. */
  keepStartBlocks?: (chainId: number, blocks: readonly StartBlock[]) => Promise<void>;
  /** Blocks of the backfill, of the chains whose turn has come: from the status, for the log. */
  backfill?: () => { done: number; all: number } | undefined;
  /** Called for each new block once its rows are there. */
  blockIndexed?: () => void;
  /** Prepares for the events of a batch; they are handled once it resolves. */
  prefetch?: (events: readonly EventAhead[]) => Promise<void>;
  /** If reads of the past reach into the backfill. */
  past?: KeptPast | undefined;
  /** Heals rows, stored ones as well as those that handlers read, until all are healed. */
  healRows?: HealRows | undefined;
};

const key = Symbol.for("nsindex.shared");

/**
 * The shared state. ponder: it loads configuration, handlers, stores and API separately, so that they share no module.
 */
export function shared(scope: object = globalThis): Shared {
  const holder = scope as { [key]?: Shared };
  holder[key] ??= {
    examples: new Map(),
    archives: new Map(),
    believed: new Map(),
    unverified: new Map(),
    otherResults: new Map(),
    chainPauseMs: Number.POSITIVE_INFINITY,
    awayChains: new Set(),
    silentChains: new Set(),
  };
  return holder[key];
}
