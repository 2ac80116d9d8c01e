import { expect } from "vitest";
import type { z } from "zod/v4";
import type { Namespace } from "../../../src/deployments/deployment.ts";
import { indexedSubregistries } from "../../../src/deployments/namespaces.ts";
import { openFeed } from "../../../src/feed/follow.ts";
import type { Pool } from "../../../src/ponder/sql-client.ts";
import type { metaSchema } from "../../../src/read/as-of.ts";
import { createChainBlocks } from "../../../src/read/chain-blocks.ts";
import { openReferrals } from "../../../src/read/events/referrals.ts";
import { indexedNamespaces } from "../../../src/read/names/indexed-namespaces.ts";
import { knownContracts } from "../../../src/read/names/known-contracts.ts";
import { createNamesSource } from "../../../src/read/names/lookups.ts";
import type { NameRow } from "../../../src/read/names/rows.ts";
import type { NamesSource } from "../../../src/read/names/source.ts";
import { createReadPast } from "../../../src/read/past.ts";
import { createDatabase } from "../../../src/read/sql/client.ts";
import { type ApiContext, endpoints } from "../../../src/service/endpoints.ts";
import { chainOf, currentStatus, openEndpoints } from "../endpoints.ts";

/** The routes under /v1. */
export const lookups = endpoints.filter(({ path }) => path.startsWith("/v1/"));

/** A page of a list. */
type Page = {
  has_more: boolean;
  next_cursor: string | null;
  page_size: number;
  total_count: number | null;
};

/** The body of an answer: what was asked for, or what was wrong. */
type Body<Data> = {
  data: Data;
  page: Page;
  meta: z.output<typeof metaSchema>;
  error: { code: string; message: string };
};

/** What a lookup says of one input. */
export type Result = {
  input: Record<string, unknown> & { name: string };
  kind: string;
  status: string;
  record: NameRow;
  records: NameRow[];
  page: Page;
};

/** An entry of a history. */
export type Entry = Record<
  "id" | "type" | "kind" | "namespace" | "name" | "namehash" | "timestamp" | "contract_address",
  string
> & {
  transaction_hash: string;
  registration_id: string | null;
  block_number: number;
  log_index: number;
  chain_id: number;
  data: Record<string, unknown>;
};

/** Names of rows, in their order. */
export const namesOf = (rows: readonly { name: string }[] = []): string[] => rows.map(({ name }) => name);

type Options = {
  /** A database, or a client of one. */
  database: Pool | NamesSource["database"];
  datasources: Namespace;
  plugins: readonly string[];
  /** Time of the newest block, in seconds; the clock is at `clock` or there too. */
  time: number;
  clock?: number;
  /** Number of the newest block of the root chain, if responses are to tell it. */
  block?: number;
  hasRecords?: boolean;
  /** The chain that answers, as `chainOf` makes it. */
  chain?: ReturnType<typeof chainOf>;
};

/** The routes under /v1 over a database: `get` and `post` read an answer and fail if anything was logged. */
export function openLookups({
  database,
  datasources,
  plugins,
  time,
  clock = time,
  block,
  hasRecords = true,
  chain = chainOf(),
}: Options) {
  const source = createNamesSource({
    database: "row" in database ? database : createDatabase(database),
    namespaces: indexedNamespaces(datasources, plugins),
    hasRecords,
  });
  const status = currentStatus("omnichain-following", time);
  const newest = { number: block, timestamp: time };
  const following = {
    chainStatus: "chain-following",
    latestIndexedBlock: newest,
    latestKnownBlock: newest,
  };
  if (block !== undefined)
    Object.assign(status.snapshot.omnichainSnapshot.chains, {
      [source.namespaces[0]?.chainId ?? 0]: following,
    });
  const context = {
    ...chain,
    plugins,
    config: { isSubgraphCompatible: false },
    status: { current: () => status },
    clock: () => clock * 1_000,
    past: createReadPast({
      blocks: createChainBlocks(async () => undefined, { log: () => undefined }),
      readBranch: async () => [],
      schema: () => "public",
      readFrom: async () => time,
      clock: () => clock * 1_000,
    }),
    subregistries: indexedSubregistries(datasources, plugins),
    referrals: openReferrals(source.database),
    editions: [],
    lookup: { ...source, hashOf: () => undefined, known: knownContracts(datasources) },
    feed: openFeed({ source: { ...source, times: () => [time] }, log: (_, message) => logged.push(message) }),
  };
  const { ask, fetch, logged } = openEndpoints(lookups, context as unknown as ApiContext);

  async function get<Data = NameRow & NameRow[]>(path: string, init?: RequestInit) {
    const { status, body } = await ask(path, init);
    expect(logged).toEqual([]);
    return { status, ...(body as Body<Data>) };
  }
  return {
    context,
    ask,
    fetch,
    logged,
    get,
    post: (body: unknown) => get<Result[]>("/v1/lookup", { method: "POST", body: JSON.stringify(body) }),
    text: async (path: string) => (await fetch(path)).text(),

    /** What all pages of a list have, of so many rows each. */
    async all<One = NameRow>(path: string, pageSize = 200): Promise<One[]> {
      const found: One[] = [];
      for (let next = ""; ; ) {
        const { data, page } = await get<One[]>(
          `${path}${path.includes("?") ? "&" : "?"}page_size=${pageSize}${next}`,
        );
        found.push(...data);
        if (!page.has_more) return found;
        next = `&cursor=${page.next_cursor}`;
      }
    },
  };
}

/** What is known of a name, by member. */
export type Facts = Record<string, unknown>;

/** Members of a name that are not as contracts say; none means equal. */
export const differencesOf = (name: string, facts: Facts | undefined, expected: Facts): string[] =>
  Object.keys(expected).flatMap((key) => {
    const [found, meant] = [facts?.[key], expected[key]].map((value) => JSON.stringify(value));
    return found === meant ? [] : `${name}: ${key} is ${found}, the contracts say ${meant}`;
  });

/** Summaries of a calendar's events. */
export const summariesOf = (calendar: string): string[] =>
  Array.from(calendar.replaceAll("\r\n ", "").matchAll(/^SUMMARY:(.*)\r$/gm), ([, summary = ""]) => summary);
