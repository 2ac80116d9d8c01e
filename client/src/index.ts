import { createBatcher } from "./batch.ts";
import { ApiError } from "./errors.ts";
import { createList, type List } from "./list.ts";
import {
  type CallOptions,
  type ClientOptions,
  createRequester,
  type Query,
  type Requester,
} from "./request.ts";
import { type StreamOptions, streamEvents } from "./stream.ts";
import type * as Types from "./types.generated.ts";

export { AnswerError, ApiError, ConnectionError, RateLimitError, UnavailableError } from "./errors.ts";
export type { List, Page } from "./list.ts";
export type { Reminder, StreamMessage, WebhookMessage } from "./messages.ts";
export type { CallOptions, ClientOptions, Query } from "./request.ts";
export type { StreamOptions } from "./stream.ts";
export type * from "./types.generated.ts";

/** A name of a search is a row as of any list. */
export type SearchResult = Types.Name;
export type NameToken = Types.NameTokens["tokens"][number];
/** The body of a lookup. Of an address are found the names that it owns or manages, its primary name first. */
export type Lookup = {
  inputs: readonly ({ name: string } | { address: string; page_size?: number | undefined })[];
  profile?: "feed" | "detail" | undefined;
  namespace?: string | undefined;
};
/** The moment that the index is read as of; now without. */
type Moment = Pick<Types.SubnamesQuery, "at">;
export interface Client extends ReturnType<typeof createClient> {}

type ListBody<T> = { data: T[]; page: Types.PageInfo; meta?: Types.Meta };
type LookupBody = { data: Types.LookupResult[] };
type ActionsBody = {
  registrarActions: Types.RegistrarAction[];
  pageContext: { page: number; totalRecords: number; hasNext: boolean };
};

const encode = encodeURIComponent;

/**
 * A client of one index. Answers are never older than those that it has had: it sends the newest block of each chain.
 * Calls reject with an `ApiError`, an `AnswerError`, a `ConnectionError` or the reason of their signal.
 */
export function createClient(options: ClientOptions) {
  const requester = createRequester(options);
  const { base, ask, requireBlock } = requester;
  return {
    /** Where the index is, without a slash at the end. */
    url: base,
    /** Answers from now on are as of this block or a later one: what a transaction in it changed is in them. */
    requireBlock,
    /** Any other GET of the service; `path` begins with `/v1/` or `/api/`. */
    get: <T extends object>(path: string, query: Query = {}, { signal }: CallOptions = {}) =>
      ask<T>(path, [], { query, signal }),
    /** The URL of a name's avatar, for an index with `METADATA=true`; `network` is that of its root chain. */
    avatarUrl: (name: string, network = "mainnet") => `${base}/${network}/avatar/${encode(name)}`,
    /** Name events as they happen. */
    stream: (query: Types.StreamQuery = {}, options: StreamOptions = {}) =>
      streamEvents(requester, query, options),
    ...createNameCalls(requester),
    ...createAddressCalls(requester),
    ...createListCalls(requester),
  };
}

async function read<T>({ ask }: Requester, path: string, query: Query, { signal }: CallOptions): Promise<T> {
  return (await ask<{ data: T }>(path, ["data"], { query, signal })).data;
}

const list = <T>({ ask }: Requester, path: string, query: Query, options: CallOptions): List<T> =>
  createList(async (cursor, signal) => {
    const body = await ask<ListBody<T>>(path, ["data", "page"], { query: { ...query, cursor }, signal });
    const { data, page, meta = {} } = body;
    return { data, next: page.next_cursor, total: page.total_count, meta };
  }, options);

function createNameCalls(requester: Requester) {
  async function lookup(
    body: Lookup,
    { at, signal }: CallOptions & Moment = {},
  ): Promise<Types.LookupResult[]> {
    const options = { query: { at }, body, signal };
    const { data } = await requester.ask<LookupBody>("/v1/lookup", ["data"], options);
    if (data.length === body.inputs.length) return data;
    throw new ApiError({ status: 200, code: "incomplete", reason: "results are missing" });
  }
  const createLook = (at?: Moment["at"]) =>
    createBatcher((names, signal) => lookup({ inputs: names.map((name) => ({ name })) }, { at, signal }));
  const look = createLook();
  return {
    /** Up to 1,000 names and addresses in one request. One result for each, in order, with a status of its own. */
    lookup,
    /** A name, or null if the index has never seen it. Calls made together are one request. */
    async name(name: string, { signal }: CallOptions = {}): Promise<Types.Name | null> {
      const { status, record, failure_reason } = await look(name, signal);
      if (status === "ok" || status === "not_found") return record ?? null;
      const reason = failure_reason ?? `${name} cannot be normalized`;
      throw new ApiError({ status: 400, code: status, field: "name", reason });
    },
    /** One result for each name, in order, each with a status of its own; `at` reads the index as of a moment. */
    names: (
      names: readonly string[],
      { at, signal }: CallOptions & Moment = {},
    ): Promise<Types.LookupResult[]> => {
      const lookAt = createLook(at);
      return Promise.all(names.map((name) => lookAt(name, signal)));
    },
    /** Records by key as indexed, and from the chain where the index cannot tell; `source` selects one of them. */
    records: (name: string, query: Types.RecordsQuery = {}, options: CallOptions = {}) => {
      const path = `/v1/names/${encode(name)}/records`;
      return read<Types.NameRecords>(requester, path, { source: "auto", ...query }, options);
    },
    subnames: (name: string, query: Types.SubnamesQuery = {}, options: CallOptions = {}) =>
      list<Types.Name>(requester, `/v1/names/${encode(name)}/subnames`, query, options),
    /** Entries of a name, newest first. */
    history: (name: string, query: Types.HistoryQuery = {}, options: CallOptions = {}) =>
      list<Types.HistoryEntry>(requester, `/v1/names/${encode(name)}/history`, query, options),
    /** The tokens that represent a name, and who holds them. */
    async nameTokens(query: Types.NameTokensQuery, { signal }: CallOptions = {}): Promise<Types.NameTokens> {
      const member = "registeredNameTokens";
      type Body = { [member]: Types.NameTokens };
      return (await requester.ask<Body>("/api/name-tokens", [member], { query, signal }))[member];
    },
  };
}

const createAddressCalls = (requester: Requester) => ({
  /** Names that an address owns, manages or has a role on; `relation` selects others. */
  namesOf: (address: string, query: Types.PortfolioQuery = {}, options: CallOptions = {}) =>
    list<Types.Name>(requester, `/v1/addresses/${encode(address)}/names`, query, options),
  addressHistory: (address: string, query: Types.AddressHistoryQuery = {}, options: CallOptions = {}) =>
    list<Types.HistoryEntry>(requester, `/v1/addresses/${encode(address)}/history`, query, options),
  /** What an address claims as its primary name, and with `source: "verified"` what the chain says of it. */
  primaryName: (address: string, query: Types.PrimaryNameQuery = {}, options: CallOptions = {}) =>
    read<Types.PrimaryName>(requester, `/v1/addresses/${encode(address)}/primary-name`, query, options),
  /** Verified primary names of an address by chain id. */
  primaryNames: (address: string, query: Types.PrimaryNamesQuery = {}, { signal }: CallOptions = {}) => {
    const path = `/api/resolve/primary-names/${encode(address)}`;
    return requester.ask<Types.PrimaryNames>(path, ["names"], { query, signal });
  },
});

const createListCalls = (requester: Requester) => ({
  search: (q: string, query: Omit<Types.SearchQuery, "q"> = {}, options: CallOptions = {}) =>
    list<SearchResult>(requester, "/v1/search", { ...query, q }, options),
  /** Names by deadline, such as `{ namespace: "ens", expires_before: "2027-01-01T00:00:00Z" }`. */
  expiries: (query: Types.ExpiriesQuery, options: CallOptions = {}) =>
    list<Types.Name>(requester, "/v1/names", query, options),
  /** Entries of all names that match, newest first. */
  events: (query: Types.EventsQuery = {}, options: CallOptions = {}) =>
    list<Types.HistoryEntry>(requester, "/v1/events", query, options),
  permissions: (query: Types.PermissionsQuery, options: CallOptions = {}) =>
    list<Types.Permission>(requester, "/v1/permissions", query, options),
  /** Registrations and renewals with their prices, newest first. */
  registrarActions: (query: Types.RegistrarActionsQuery = {}, options: CallOptions = {}) =>
    createList<Types.RegistrarAction>(async (page, signal) => {
      const asked = { query: { ...query, page }, signal };
      const members = ["registrarActions", "pageContext"];
      const body = await requester.ask<ActionsBody>("/api/registrar-actions", members, asked);
      const { page: current, totalRecords: total, hasNext } = body.pageContext;
      return { data: body.registrarActions, next: hasNext ? String(current + 1) : null, total, meta: {} };
    }, options),
});
