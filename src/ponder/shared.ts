/** An event that the handlers will get soon: `<contract entry>:<event>` and its arguments. */
export type EventAhead = {
  eventCallback: { name: string };
  event?: { args?: Readonly<Record<string, unknown>> };
};

/** Where an event is that a handler skipped or repaired: enough to find it on any explorer. */
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

/** What the parts of this process tell each other. */
export type Shared = {
  /** The last events of each kind of anomaly, newest first: from the handlers, for the API. */
  examples: Map<string, readonly EventReference[]>;
  /** The archives in front of the RPC URLs, by the name of the chain: for the status page. */
  archives: Map<string, string>;
  /** What is believed without proof, by the name of the chain: from the checks of answers and archives, for the status page. */
  believed: Map<string, Set<string>>;
  /** Ranges that a node returned before it was proven wrong, by chain id: from the checks of answers, for the API. */
  unverified: Map<number, readonly Range[]>;
  /** Stores the unverified ranges of now. */
  storeUnverified?: () => Promise<void>;
  /** The store of results of calls once Ponder has made it. */
  resultStore?: ResultStore;
  /** By chain id: from archives. */
  otherResults: Map<number, OtherResults>;
  /** Prepares for the events of a batch; they are handled once it resolves. */
  prefetch?: (events: readonly EventAhead[]) => Promise<void>;
};

const key = Symbol.for("nsindex.shared");

/** What the parts of this process share. ponder: loads configuration, handlers, stores and API apart, so that they share no module. */
export function shared(scope: object = globalThis): Shared {
  const holder = scope as { [key]?: Shared };
  holder[key] ??= {
    examples: new Map(),
    archives: new Map(),
    believed: new Map(),
    unverified: new Map(),
    otherResults: new Map(),
  };
  return holder[key];
}
