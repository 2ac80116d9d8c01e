import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import {
  type Accepted,
  type Comparison,
  compareEntities,
  type Entities,
  readEntities,
  readEntityDump,
} from "../../devnet/entities.ts";
import { projectRoot } from "../../devnet/indexing-service.ts";
import { type ChainName, recordedDatasources, recordingFolder } from "../../devnet/recorded-chains.ts";
import { type Recording, readLabels, readRecording } from "../../devnet/recording.ts";

/** Last blocks of the recordings. */
export const lastBlocks: Record<ChainName, number> = { root: 1666, base: 194, linea: 158 };

const recordings = new Map<ChainName, Recording>();

/** The recording of a chain, which nobody changes: read once for all test files of a worker. */
export function recordingOf(chain: ChainName): Recording {
  const recording = recordings.get(chain) ?? readRecording(recordingFolder(chain));
  recordings.set(chain, recording);
  return recording;
}

/** The recording of a chain as if it were another one: its transactions are signed for that chain's id. */
export function recordingAs(chain: ChainName, chainId: number): Recording {
  const recording = recordingOf(chain);
  const transactions = recording.transactions.map((transaction) => ({
    ...transaction,
    chainId: `0x${chainId.toString(16)}`,
    ...(transaction["type"] === "0x0"
      ? { v: `0x${(chainId * 2 + 36 - (Number(transaction["v"]) % 2)).toString(16)}` }
      : {}),
  }));
  return { ...recording, chainId, transactions };
}

/** What a label service knows of the names of these recordings. */
export const recordedLabels = (chains: readonly ChainName[]) =>
  chains.flatMap((chain) => readLabels(recordingFolder(chain)));

const fixture = (name: string) => join(projectRoot, "test/fixtures", name);

/** Reads a gzipped JSON fixture. */
export const readFixture = (name: string) => JSON.parse(gunzipSync(readFileSync(fixture(name))).toString());

/** Entities that the original mapping creates from the recording of the root chain. */
export const recordedEntities = (): Entities => readEntityDump(fixture("chain-a-entities.json.gz"));

/** A query of a client, over the recording of the root chain. */
export type ClientQuery = { name: string; query: string; variables: { [name: string]: unknown } };

/** Queries that wallets, explorers and libraries send. */
export const clientQueries = (): ClientQuery[] =>
  JSON.parse(readFileSync(fixture("client-queries.json"), "utf8"));

/** Values in which the index differs from them by decision: a wrapped label that ends in NUL is unusable. */
const decidedDifferences = (): Accepted => JSON.parse(readFileSync(fixture("chain-a-accepted.json"), "utf8"));

/** The expected result of `compareWithRecording`: five fields are decided differences. */
export const asRecorded: Comparison = { total: 11884, equal: 11884, acceptedFields: 5, differences: [] };

/**
 * Compares the entities of a subgraph endpoint with those of the whole recording, or those of its events up to a block.
 */
export async function compareWithRecording(endpoint: string, until?: number): Promise<Comparison> {
  const all = recordedEntities();
  const expected = until === undefined ? all : eventsUntil(all, until);
  return compareEntities(expected, await readEntities(endpoint, expected), decidedDifferences());
}

// They stay as they are, and tell everything that logs do.
const eventsUntil = (entities: Entities, until: number): Entities =>
  Object.fromEntries(
    Object.entries(entities)
      .map(([type, list]) => [type, list.filter(({ blockNumber }) => Number(blockNumber) <= until)] as const)
      .filter(([, list]) => list.length > 0),
  );

/** A registrar action as `/api/registrar-actions` lists it. */
export type ListedAction = { action: { id: string; block: { timestamp: number } }; name: string };

/** The registrar actions that ENSNode lists for the three recordings, newest first. */
export const recordedActions = (): ListedAction[] => readFixture("registrar-actions.json.gz");

/** The records under `key` of all pages of a list under /api; `ask` reads a path. */
export async function allPages<One>(
  ask: (path: string) => Promise<{ body: unknown }>,
  path: string,
  key: string,
): Promise<One[]> {
  const found: One[] = [];
  for (let page = 1; ; page++) {
    const { body } = await ask(`${path}${path.includes("?") ? "&" : "?"}recordsPerPage=100&page=${page}`);
    const { pageContext, [key]: records } = body as Record<string, One[]> & {
      pageContext: { hasNext: boolean };
    };
    found.push(...(records ?? []));
    if (!pageContext.hasNext) return found;
  }
}

/** All registrar actions that a service lists, newest first; `path` and parameters (`?name=value`) narrow them. */
export const listedActions = (url: string, path = ""): Promise<ListedAction[]> =>
  allPages(
    async (path) => ({ body: await (await fetch(`${url}${path}`)).json() }),
    `/api/registrar-actions${path}`,
    "registrarActions",
  );

/** A datasources file for the recordings; `ranges` sets the block range of all contracts of a chain. */
export const datasourcesFile = (ranges: Parameters<typeof recordedDatasources>[0] = {}): string =>
  JSON.stringify({ "ens-test-env": recordedDatasources(ranges) });

/** A chain with 65 blocks to finality, and whose logs are cached: neither holds for the test network. */
export const sepolia = 11_155_111;

/** A datasources file for the recording of the root chain as if it were sepolia. */
export function sepoliaDatasources(): string {
  const { ensroot } = (JSON.parse(datasourcesFile()) as Record<string, Record<string, object>>)[
    "ens-test-env"
  ]!;
  const [contracts] = Object.values(ensroot!);
  return JSON.stringify({ sepolia: { ensroot: { [sepolia]: contracts } } });
}
