import { setTimeout as wait } from "node:timers/promises";
import { toHex } from "viem";
import { entriesForRate, type IndexedChain } from "../../src/config/chains.ts";
import type { Config } from "../../src/config/environment.ts";
import { contractSources, logFilters } from "../../src/config/sources.ts";
import { namePlugins } from "../../src/deployments/deployments.ts";
import { requestRpc } from "../../src/ponder/rpc-request.ts";
import { believedOfUrls } from "../../src/rpc/believed.ts";
import { nameOfUrl, requireFreePort } from "../preflight.ts";
import {
  about,
  examineEmbedded,
  examineLabels,
  examinePostgres,
  type Finding,
  inGigabytes,
} from "./machine.ts";

const number = (value: number) => Math.round(value).toLocaleString("en");

function inWords(seconds: number): string {
  const [unit = "s", length = 1] = spans.find(([, length]) => seconds >= 2 * length) ?? [];
  return `${number(seconds / length)} ${unit}`;
}

const spans = [
  ["days", 86_400],
  ["hours", 3_600],
  ["minutes", 60],
] as const;

/** Tries everything that the configuration names, and changes nothing. */
export async function examine(config: Config): Promise<Finding[]> {
  const [chains, database, labels, port] = await Promise.all([
    Promise.all(config.chains.map((chain) => examineChain(chain, config))),
    config.databaseUrl === undefined ? examineEmbedded(config) : examinePostgres(config),
    examineLabels(config),
    examinePort(config),
  ]);
  const samples = chains.flatMap(({ sample }) => sample ?? []);
  const isWhole = samples.length === config.chains.length;
  return [
    ...chains.flatMap(({ findings }) => findings),
    clockFinding(chains.flatMap(({ skews }) => skews)),
    ...database.findings,
    ...labels,
    port,
    ...(isWhole ? [backfillFinding(expectedOf(samples, config.plugins), database.freeBytes)] : []),
  ];
}

const examinePort = ({ port, host }: Config) =>
  requireFreePort(port, host).then(
    () => about("port").ok(`${port} is free`),
    ({ message }: Error) => about("port").fail(message, "Stop the other process, or set PORT or API_HOST."),
  );

function clockFinding(skews: readonly number[]): Finding {
  const { ok, warning, fail } = about("clock");
  const skew = skews.toSorted((a, b) => a - b)[Math.floor(skews.length / 2)];
  if (skew === undefined) return ok("not compared: no node says the time");
  // HTTP gives the time to the second.
  if (Math.abs(skew) < 5_000) return ok("agrees with the nodes");
  const found = `${Math.abs(skew / 1_000).toFixed(1)} s ${skew < 0 ? "behind" : "ahead of"} the nodes`;
  return (Math.abs(skew) > 60_000 ? fail : warning)(
    found,
    "Set the clock (NTP): states and distances use it.",
  );
}

// --- What a first backfill costs ---

/** What samples of a chain's logs showed: `sampled` of `blocks` were read; a request covers `range` blocks. */
export type Sample = {
  blocks: number;
  sampled: number;
  logs: number;
  blocksWithLogs: number;
  range: number;
  /** Initial rate of all URLs together. */
  requestsPerSecond: number;
};

// Measured by bench/mainnet.ts and bench/disk.ts, see docs/performance.md: logs a second with a cold cache, and bytes of rows and indexes for each.
const measured = {
  names: { logsPerSecond: 9_000, bytes: 1_280 },
  all: { logsPerSecond: 5_000, bytes: 1_820 },
  cacheBytes: 770,
  // Ranges are read for contracts and for resolvers; some requests are sent twice, and contracts are read.
  further: 1.1,
};

/** Requests, logs, hours and bytes of a first backfill, from samples of its chains and what was measured. */
export function expectedOf(samples: readonly Sample[], plugins: readonly string[]) {
  const { logsPerSecond, bytes } = plugins.every((id) => namePlugins.includes(id))
    ? measured.names
    : measured.all;
  const chains = samples.map(({ blocks, sampled, range, requestsPerSecond, ...found }) => {
    const scale = sampled === 0 ? 0 : blocks / sampled;
    const requests = measured.further * (found.blocksWithLogs * scale + (2 * blocks) / range);
    return { requests, logs: found.logs * scale, seconds: requests / requestsPerSecond };
  });
  const sum = (of: "requests" | "logs") => Math.round(chains.reduce((total, chain) => total + chain[of], 0));
  // Chains are fetched at the same time, and indexed together.
  const seconds = Math.max(sum("logs") / logsPerSecond, ...chains.map((chain) => chain.seconds));
  const total = { requests: sum("requests"), logs: sum("logs"), hours: seconds / 3_600 };
  return { ...total, bytes: total.logs * (bytes + measured.cacheBytes) };
}

function backfillFinding(
  { requests, logs, hours, bytes }: ReturnType<typeof expectedOf>,
  freeBytes: number | undefined,
): Finding {
  const { ok, warning, fail } = about("first backfill");
  const time = hours < 1 ? `${Math.ceil(hours * 60)} min` : `${hours.toFixed(hours < 10 ? 1 : 0)} h`;
  const found =
    `about ${number(logs)} logs, ${number(requests)} requests, ${time} at the initial rate, ${inGigabytes(bytes)} of ` +
    "database; from samples of the chains and docs/performance.md";
  if (freeBytes !== undefined && freeBytes < bytes)
    return fail(found, `Only ${inGigabytes(freeBytes)} are free: use a larger disk.`);
  return hours > 72 ? warning(found, "Raise RPC_REQUESTS_PER_SECOND, or add URLs.") : ok(found);
}

// --- Chains ---

type Answer = { result: unknown; ms: number; skewMs: number | undefined };
type Ask = (method: string, ...params: unknown[]) => Promise<Answer>;

// JSON-RPC 2.0, 5.1.
const methodNotFound = -32_601;

/** A node does not have a method. */
class MissingMethodError extends Error {}

/** Asks a URL; rejects with what is wrong in a few words. */
async function askUrl(url: string, method: string, params: unknown[]): Promise<Answer> {
  const sent = Date.now();
  const { status, headers, result, error } = await requestRpc(url, { method, params }).catch(
    (error: Error & { cause?: { code?: string } }) => {
      throw new Error(
        error.name === "TimeoutError" ? "no answer in 10 s" : (error.cause?.code ?? error.message),
      );
    },
  );
  if (error) {
    const message = String(error.message ?? "an error").slice(0, 150);
    throw error.code === methodNotFound ? new MissingMethodError(message) : new Error(message);
  }
  if (status < 200 || status > 299 || result === undefined) throw new Error(`HTTP ${status}, no result`);
  const date = Date.parse(headers.get("date") ?? "");
  const skewMs = Number.isNaN(date) ? undefined : (sent + Date.now()) / 2 - (date + 500);
  return { result, ms: Date.now() - sent, skewMs };
}

type Filters = ReturnType<typeof logFilters>;

type Chain = { findings: Finding[]; skews: number[]; sample?: Sample };

async function examineChain(chain: IndexedChain, config: Config): Promise<Chain> {
  const filters = logFilters(contractSources(config), chain.name);
  const result: Chain = { findings: [], skews: [] };
  const urls = chain.rpc.http.map(async (url, place): Promise<Finding[]> => {
    const subject = nameOfUrl(chain.id, chain.rpc.http, place);
    const remedy = `Correct or remove this URL of RPC_URL_${chain.id}.`;
    const ask: Ask = (method, ...params) => askUrl(url, method, params);
    try {
      const { result: id, skewMs } = await ask("eth_chainId");
      if (Number(id) !== chain.id)
        return [about(subject).fail(`answers for chain ${Number(id)}, not for ${chain.id}`, remedy)];
      if (skewMs !== undefined) result.skews.push(skewMs);
      const { findings, range, head } = await examineUrl(ask, { chain, config, filters, subject });
      if (range > 0) result.sample ??= await sampleLogs(ask, { chain, config, filters, range, head });
      return findings;
    } catch (error) {
      return [about(subject).fail((error as Error).message, remedy)];
    }
  });
  result.findings = [...(await Promise.all(urls)).flat(), ...believedFinding(chain, config)];
  return result;
}

function believedFinding({ name, isLocal, rpc }: IndexedChain, { rpcCrossCheckPercent }: Config): Finding[] {
  const urls = new Set(rpc.http).size;
  const believed = believedOfUrls(urls, rpcCrossCheckPercent / 100);
  if (believed.length === 0) return [];
  const found = `believed without proof: ${believed.join("; ")}`;
  const { ok, warning } = about(`proof of ${name}`);
  const remedy = "Add a URL of another provider, and compare after the backfill: npm run cache -- check.";
  return [urls === 1 && !isLocal ? warning(found, remedy) : ok(found)];
}

type Subject = { chain: IndexedChain; config: Config; filters: Filters; subject: string };

async function examineUrl(ask: Ask, { chain, config, filters, subject }: Subject) {
  const { ok, warning, fail } = about(subject);
  const latest = (await ask("eth_getBlockByNumber", "latest", false)).result as Record<string, unknown>;
  const head = Number(latest["number"]);
  const age = Math.round(Date.now() / 1000 - Number(latest["timestamp"]));
  const first = Math.min(filters.first, head);
  const refusal = (method: string, ...params: unknown[]) =>
    ask(method, ...params).then(
      ({ result }) => (result === null ? "not found" : undefined),
      ({ message }: Error) => message,
    );
  const readers = config.plugins.filter((id) => id === "threedns" || id === "protocol-acceleration");
  const block = await refusal("eth_getBlockByNumber", toHex(first), false);
  const state =
    readers.length > 0 &&
    (await ask("eth_getBalance", `0x${"0".repeat(40)}`, toHex(first)).then(
      () => undefined,
      (error: Error) => error,
    ));
  const receipts = await refusal("eth_getBlockReceipts", toHex(head));
  const { range, problem } = await widestRange(ask, head, filters);
  const findings = [
    age > 300
      ? warning(
          `head ${head}, ${inWords(age)} old`,
          "Use a node that has caught up, unless the chain stands still.",
        )
      : ok(`chain ${chain.id}, head ${head}`),
    block && fail(`no block ${first}: ${block}`, "Use a node with all blocks."),
    state instanceof MissingMethodError &&
      warning(
        `no eth_getBalance: ${state.message}`,
        `Whether it has old state is not known. These need it: ${readers.join(", ")}.`,
      ),
    state instanceof Error &&
      !(state instanceof MissingMethodError) &&
      fail(
        `no state of block ${first}: ${state.message}`,
        `Use an archive node, which these need: ${readers.join(", ")}.`,
      ),
    receipts &&
      warning(
        `no eth_getBlockReceipts: ${receipts}`,
        "Logs are checked by single receipts, which takes more requests.",
      ),
    range === 0 && fail(`no eth_getLogs: ${problem}`, "Use a node that serves logs."),
    range > 0 &&
      range < 500 &&
      warning(
        `eth_getLogs covers ${range} blocks: ${problem}`,
        "Use another plan or node: the backfill takes many requests.",
      ),
    range >= 500 && ok(`eth_getLogs covers ${number(Math.min(range, head + 1))} blocks`),
    chain.id === config.rootChainId &&
      !config.isSubgraphCompatible &&
      (await tracesFinding(ask, latest, subject)),
    await rateFinding(ask, { chain, config, subject }),
  ];
  return { findings: findings.filter((one) => typeof one === "object"), range, head };
}

/** Whether the node traces the newest transaction that it has; undefined if the last blocks are empty. */
async function tracesFinding(ask: Ask, latest: Record<string, unknown>, subject: string) {
  const { ok, warning } = about(subject);
  const found = "debug_traceTransaction";
  const remedy = "Use a node with it: some names under addr.reverse stay unknown.";
  let block = latest;
  for (let tries = 0; tries < 20; tries++) {
    const [hash] = block["transactions"] as unknown[];
    const before = Number(block["number"]) - 1;
    if (hash !== undefined)
      return ask(found, hash, { tracer: "callTracer" }).then(
        () => ok(found),
        ({ message }: Error) => warning(`no ${found}: ${message}`, remedy),
      );
    if (before < 0) return undefined;
    block = (await ask("eth_getBlockByNumber", toHex(before), false)).result as typeof block;
  }
  return undefined;
}

async function widestRange(ask: Ask, head: number, { filters }: Filters) {
  let problem = "";
  for (const range of [10_000, 2_000, 1_000, 500, 100, 10, 1]) {
    const blocks = { fromBlock: toHex(Math.max(0, head - range + 1)), toBlock: toHex(head) };
    try {
      for (const filter of filters) await ask("eth_getLogs", { ...filter, ...blocks });
      return { range, problem };
    } catch (error) {
      problem = (error as Error).message;
    }
  }
  return { range: 0, problem };
}

async function rateFinding(ask: Ask, { chain, config, subject }: Omit<Subject, "filters">): Promise<Finding> {
  const sent = Math.min(config.rpcRequestsPerSecond ?? 20, 100);
  const outcomes = await Promise.all(
    Array.from({ length: sent }, async (_, place) => {
      await wait((place * 1_000) / sent);
      return ask("eth_getBlockByNumber", "latest", false).then(
        ({ ms }) => ms,
        (error: Error) => error.message,
      );
    }),
  );
  const times = outcomes.filter((one) => typeof one === "number").sort((a, b) => a - b);
  const refusal = outcomes.find((one) => typeof one === "string");
  const found = `${times.length} of ${sent} requests a second answered, median ${times[times.length >> 1] ?? "-"} ms`;
  const remedy = `Set RPC_REQUESTS_PER_SECOND=${Math.max(1, times.length >> 1)}, or add a URL to RPC_URL_${chain.id}.`;
  return refusal === undefined
    ? about(subject).ok(found)
    : about(subject).warning(`${found}; ${refusal}`, remedy);
}

/** Reads the logs of some ranges, evenly spread over the blocks that are indexed. */
async function sampleLogs(
  ask: Ask,
  { chain, config, filters, ...node }: Omit<Subject, "subject"> & { range: number; head: number },
) {
  const { first, last, isOurs } = filters;
  const ranges = 12;
  const blocks = Math.max(1, Math.min(node.head, last) - first + 1);
  const width = Math.min(node.range, 500, Math.ceil(blocks / ranges));
  const requestsPerSecond = 20 * entriesForRate(chain.rpc.http, config.rpcRequestsPerSecond).length;
  const sample = { blocks, sampled: 0, logs: 0, blocksWithLogs: 0, range: node.range, requestsPerSecond };
  for (let place = 0; place < ranges; place++) {
    const from = first + Math.floor((place * blocks) / ranges);
    const limits = { fromBlock: toHex(from), toBlock: toHex(from + width - 1) };
    try {
      const answers = await Promise.all(
        filters.filters.map((one) => ask("eth_getLogs", { ...one, ...limits })),
      );
      type Log = { address: string; topics: string[]; blockNumber: string; logIndex: string };
      const found = (answers.flatMap(({ result }) => result) as Log[]).filter(isOurs);
      sample.sampled += width;
      sample.logs += new Set(found.map(({ blockNumber, logIndex }) => `${blockNumber} ${logIndex}`)).size;
      sample.blocksWithLogs += new Set(found.map(({ blockNumber }) => blockNumber)).size;
    } catch {
      // A dense range may exceed a limit: the others stand for it.
    }
  }
  return sample;
}
