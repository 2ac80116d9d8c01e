import { toHex } from "viem";
import { readManifest } from "../../src/archive/folder.ts";
import { type CoveredLogs, findGaps, type Segment } from "../../src/archive/manifest.ts";
import { readCachedParts } from "../../src/archive/ponder-cache.ts";
import { describeLogsOf } from "../../src/archive/wanted.ts";
import type { IndexedChain } from "../../src/config/chains.ts";
import type { Config } from "../../src/config/environment.ts";
import { type ContractEntry, contractSources } from "../../src/config/sources.ts";
import { escapeControls, seeOperations } from "../../src/log/json-log.ts";
import { requestRpc } from "../../src/ponder/rpc-request.ts";
import type { Statement } from "../../src/ponder/sql-client.ts";
import { withDatabase } from "../database.ts";
import { listSecrets, redact } from "../log-lines.ts";
import { about, type Finding } from "./finding.ts";
import { nameUrl } from "./nodes.ts";

// A node may drop bodies and receipts of old blocks (EIP-4444). Some nodes then return empty lists, as if these blocks
// had no logs.

const section = seeOperations("Nodes without history");

/** Checks that the RPC URLs have the logs of the first block that neither the cache nor ARCHIVE has. */
export async function examineHistory(config: Config): Promise<Finding[]> {
  const sources = Object.values(contractSources(config));
  const cached = await withDatabase<CoveredLogs[]>(
    config,
    async (run) => {
      const found: CoveredLogs[] = [];
      for (const { id } of config.chains) found.push(await readCachedCoverage(run, id));
      return found;
    },
    () => [],
  );
  const found = config.chains.map(async (chain, index) => {
    const archived = await readArchivedCoverage(config, chain.id);
    const first = findFirstMissing(sources, chain.name, join(cached[index] ?? nothing, archived));
    return first === undefined ? [] : examineUrls(chain, first, config);
  });
  return (await Promise.all(found)).flat();
}

const nothing: CoveredLogs = { filters: [], children: {}, segments: [] };

async function readCachedCoverage(run: Statement, chainId: number): Promise<CoveredLogs> {
  const children: CoveredLogs["children"] = {};
  const parts = await readCachedParts(run, { chainId, children });
  const segments = parts.map(({ from, to }, index) => ({ from, to, filters: [index] }));
  return { filters: parts.map(({ filter }) => filter), children, segments };
}

async function readArchivedCoverage({ archive, needsProofs }: Config, chainId: number): Promise<CoveredLogs> {
  if (archive === undefined) return nothing;
  // `examineArchive` reports an archive that cannot be read.
  const manifest = await readManifest(archive, chainId).catch(() => undefined);
  if (manifest === undefined) return nothing;
  const isUsed = ({ proof }: Segment) => !needsProofs || proof.bloom + proof.header === 0;
  return { ...manifest, segments: manifest.segments.filter(isUsed) };
}

const join = (one: CoveredLogs, other: CoveredLogs): CoveredLogs => ({
  filters: [...one.filters, ...other.filters],
  children: { ...one.children, ...other.children },
  segments: [
    ...one.segments,
    ...other.segments.map(({ from, to, filters }) => ({
      ...{ from, to },
      filters: filters.map((index) => one.filters.length + index),
    })),
  ],
});

/** The first block of which entries of a chain need logs that are not covered; undefined if there is none. */
export function findFirstMissing(
  sources: readonly ContractEntry[],
  chain: string,
  covered: CoveredLogs,
): number | undefined {
  const byRange = Map.groupBy(sources, ({ chain: { [chain]: range } }) =>
    range === undefined ? "" : `${range.startBlock} ${range.endBlock ?? Number.MAX_SAFE_INTEGER}`,
  );
  byRange.delete("");
  const firsts = [...byRange].flatMap(([range, own]) => {
    const [from = 0, to = 0] = range.split(" ").map(Number);
    return findGaps(covered, describeLogsOf(own, chain).filters, { from, to })[0]?.from ?? [];
  });
  return firsts.length === 0 ? undefined : Math.min(...firsts);
}

/** What a node lacks; `isSilent` if its response cannot be told from that of a block without logs. */
type Lack = { found: string; isSilent: boolean };

// src/rpc puts a URL aside whose logs another contradicts, if responses are compared.
async function examineUrls({ id, rpc }: IndexedChain, first: number, config: Config): Promise<Finding[]> {
  const { warning, fail } = about("history");
  const lacks = await Promise.all(rpc.http.map((url) => findLack(url, first).catch(() => undefined)));
  const isAlone = lacks.every((lack) => lack !== undefined);
  return lacks.flatMap((lack, index) => {
    if (lack === undefined) return [];
    const name = nameUrl(id, rpc.http, index);
    const found = `${name} lacks old blocks of chain ${id}: ${redact(lack.found, listSecrets(config))}`;
    const instead = "a node with the whole history, or set ARCHIVE to an archive of these blocks";
    if (isAlone) return [fail(found, `Use the URL of ${instead}.`, section)];
    if (lack.isSilent && config.rpcCrossCheckPercent === 0)
      return [fail(found, `Remove it from RPC_URL_${id}, or set RPC_CROSS_CHECK_PERCENT=1.`, section)];
    return [warning(`${found}; continuing with the others`, "", section)];
  });
}

// Most blocks have logs. The first ones of a young chain may not.
const steps = [0, 1, 10, 100, 1_000, 10_000];

/**
 * What a node lacks of the first block from `first` on, in growing steps, whose header has logs in its bloom; undefined
 * if it lacks nothing, or shows nothing. Rejects without a response.
 */
export async function findLack(url: string, first: number): Promise<Lack | undefined> {
  for (const step of steps) {
    const number = first + step;
    const found = (text: string, isSilent = false) => ({ found: `block ${number} ${text}`, isSilent });
    const header = await ask(url, number, "eth_getBlockByNumber", (tag) => [tag, false]);
    if ("refusal" in header) return found(`is refused: ${header.refusal}`);
    if (header.result === null)
      return (await hasReached(url, number)) ? found("is missing there") : undefined;
    const { logsBloom, transactions } = Object(header.result) as Record<string, unknown>;
    if (typeof logsBloom !== "string" || !Array.isArray(transactions)) return undefined;
    if (/^0x0*$/.test(logsBloom)) continue;
    if (transactions.length === 0) return found("has logs, but no transactions there");
    const logs = await ask(url, number, "eth_getLogs", (tag) => [{ fromBlock: tag, toBlock: tag }]);
    if ("refusal" in logs) return found(`has logs, which are refused: ${logs.refusal}`);
    return isEmpty(logs.result) ? found("has logs, but the node returns none", true) : undefined;
  }
  return undefined;
}

const isEmpty = (result: unknown) => result === null || (Array.isArray(result) && result.length === 0);

async function hasReached(url: string, number: number): Promise<boolean> {
  const { result } = await requestRpc(url, { method: "eth_blockNumber" });
  return typeof result === "string" && Number(result) >= number;
}

/**
 * The result of a request about a block, or why the node refuses it. Rejects if the node refuses the newest block too,
 * or is busy.
 */
async function ask(
  url: string,
  number: number,
  method: string,
  params: (tag: string) => unknown[],
): Promise<{ result: unknown } | { refusal: string }> {
  const send = (tag: string) => requestRpc(url, { method, params: params(tag) });
  const first = await send(toHex(number));
  if (first.result !== undefined) return { result: first.result };
  // geth: "pruned history unavailable".
  if (Number(first.error?.code) === 4444) return { refusal: describeRefusal(first) };
  const newest = await send("latest");
  const again = await send(toHex(number));
  if (again.result !== undefined) return { result: again.result };
  if (newest.result && again.status !== 429 && again.status < 500) return { refusal: describeRefusal(again) };
  throw new Error("The node refuses every block, or is busy");
}

const describeRefusal = ({ status, error }: Awaited<ReturnType<typeof requestRpc>>) =>
  escapeControls(error === undefined ? `HTTP ${status}` : String(error.message || error.code).slice(0, 150));
