import { setTimeout as wait } from "node:timers/promises";
import { toHex } from "viem";
import { entriesForRate, type IndexedChain } from "../../src/config/chains.ts";
import type { Config } from "../../src/config/environment.ts";
import { contractSources, logFilters } from "../../src/config/sources.ts";
import { namePlugins } from "../../src/deployments/deployments.ts";
import { seeOperations, spanOf } from "../../src/log/json-log.ts";
import { requestChainId, requestRpc } from "../../src/ponder/rpc-request.ts";
import { believedOfUrls } from "../../src/rpc/believed.ts";
import { about, type Finding } from "./finding.ts";
import { inGigabytes } from "./machine.ts";

const number = (value: number) => Math.round(value).toLocaleString("en");

/** An RPC URL by variable, position and host: URLs can contain keys. */
export function nameOfUrl(chainId: number, urls: readonly string[], index: number): string {
  const host = URL.canParse(urls[index] ?? "") ? new URL(urls[index] ?? "").host : "?";
  const entry = urls.length === 1 ? "" : ` entry ${index + 1}`;
  return `RPC_URL_${chainId}${entry} (${host})`;
}

/** Whether each chain has an RPC URL that responds, and none of another chain. */
export async function examineUrls({ chains }: Pick<Config, "chains">): Promise<Finding[]> {
  const { ok, warning, away, fail } = about("RPC");
  const found = chains.map(async ({ id, rpc }) => {
    const silent: string[] = [];
    const others: Finding[] = [];
    const asked = rpc.http.map(async (url, index) => {
      const name = nameOfUrl(id, rpc.http, index);
      const served = await requestChainId(url).catch(() => undefined);
      if (served === undefined) silent.push(name);
      else if (served !== id)
        others.push(
          fail(`${name} answers for chain ${served}, not for chain ${id}`, `Correct RPC_URL_${id}.`),
        );
    });
    await Promise.all(asked);
    if (others.length > 0) return others;
    const said = `No answer from ${silent.sort().join(", ")}`;
    if (silent.length === asked.length) return [away(said, "")];
    const see = seeOperations("While something is away");
    return [
      silent.length > 0 ? warning(`${said}; going on with the others`, see) : ok(`chain ${id} responds`),
    ];
  });
  return (await Promise.all(found)).flat();
}

/** What each RPC URL has and does, the clock by their answers, and what a first backfill costs. */
export async function examineNodes(config: Config): Promise<Finding[]> {
  const chains = await Promise.all(config.chains.map((chain) => examineChain(chain, config)));
  const expected = chains.flatMap(({ expected }) => expected ?? []);
  return [
    ...chains.flatMap(({ findings }) => findings),
    clockFinding(chains.flatMap(({ skews }) => skews)),
    ...(expected.length === chains.length ? [backfillFinding(expectedOf(expected, config.plugins))] : []),
  ];
}

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

// Measured by bench/mainnet.ts and bench/disk.ts, see docs/performance.md: logs a second with a cold cache, and bytes of rows and indexes for each.
const measured = {
  names: { logsPerSecond: 9_000, bytes: 1_280 },
  all: { logsPerSecond: 5_000, bytes: 1_820 },
  cacheBytes: 770,
};

/** What samples of a chain's logs let expect of all its logs, and the initial rate of all its URLs. */
type Expected = { logs: number; requests: number; requestsPerSecond: number };

/** Requests, logs, hours and bytes of a first backfill of these chains. */
export function expectedOf(chains: readonly Expected[], plugins: readonly string[]) {
  const isNames = plugins.every((id) => namePlugins.includes(id));
  const { logsPerSecond, bytes } = measured[isNames ? "names" : "all"];
  const sum = (of: "requests" | "logs") => chains.reduce((total, chain) => total + chain[of], 0);
  // Chains are fetched at the same time, and indexed together.
  const seconds = chains.map(({ requests, requestsPerSecond }) => requests / requestsPerSecond);
  return {
    logs: sum("logs"),
    requests: sum("requests"),
    hours: Math.max(sum("logs") / logsPerSecond, ...seconds) / 3_600,
    bytes: sum("logs") * (bytes + measured.cacheBytes),
  };
}

function backfillFinding({ requests, logs, hours, bytes }: ReturnType<typeof expectedOf>): Finding {
  const { ok, warning } = about("first backfill");
  const found =
    `about ${number(logs)} logs, ${number(requests)} requests, ${spanOf(hours * 3_600)} at the initial rate, ${inGigabytes(bytes)} of ` +
    "database; from samples of the chains and docs/performance.md";
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
async function askUrl(url: string, method: string, params: unknown): Promise<Answer> {
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

/** Why a request has no result; undefined if it has one. */
const failureOf = (answer: Promise<Answer>) =>
  answer.then(
    ({ result }) => (result === null ? new Error("not found") : undefined),
    (error: Error) => error,
  );

type Chain = { findings: Finding[]; skews: number[]; expected?: Expected | undefined };

async function examineChain(chain: IndexedChain, config: Config): Promise<Chain> {
  const filters = logFilters(Object.values(contractSources(config)), chain.name);
  const result: Chain = { findings: [], skews: [] };
  const urls = chain.rpc.http.map(async (url, index): Promise<Finding[]> => {
    const subject = nameOfUrl(chain.id, chain.rpc.http, index);
    const ask: Ask = (method, ...params) => askUrl(url, method, params);
    try {
      const { result: id, skewMs } = await ask("eth_chainId");
      // The start's own check says so.
      if (Number(id) !== chain.id) return [];
      if (skewMs !== undefined) result.skews.push(skewMs);
      const latest = (await ask("eth_getBlockByNumber", "latest", false)).result as Block;
      const head = Number(latest.number);
      const tried: Tried = { ask, chain, config, filters, latest, head, range: 0, ...about(subject) };
      const findings: Finding[] = [];
      for (const probe of probes) findings.push(...((await probe(tried)) ?? []));
      const requestsPerSecond = 20 * entriesForRate(chain.rpc.http, config.rpcRequestsPerSecond).length;
      const found = await sampled(tried);
      result.expected ??= found && { ...found, requestsPerSecond };
      return findings;
    } catch (error) {
      return [
        about(subject).fail((error as Error).message, `Correct or remove this URL of RPC_URL_${chain.id}.`),
      ];
    }
  });
  result.findings = [...(await Promise.all(urls)).flat(), ...believedFinding(chain, config)];
  return result;
}

const logsQuery = (filter: Filter, from: number, to: number) => ({
  ...{ fromBlock: toHex(from), toBlock: toHex(to), topics: [filter.topics] },
  ...(filter.addresses && { address: filter.addresses }),
});

/** How many logs a chain has for the index, and how many requests they take, by ranges spread over its blocks. */
async function sampled({ ask, filters: { first, last, filters }, head, range }: Tried) {
  const samples = 10;
  const blocks = Math.max(1, Math.min(head, last) - first + 1);
  const width = Math.min(200, range, Math.ceil(blocks / samples));
  const found = { logs: 0, blocks: 0, sampled: 0 };
  for (let index = 0; index < samples; index++) {
    const from = first + Math.floor((index * blocks) / samples);
    const asked = filters.map((filter) => ask("eth_getLogs", logsQuery(filter, from, from + width - 1)));
    // A dense range may exceed a limit: the others stand for it.
    const answers = await Promise.all(asked).catch(() => undefined);
    if (answers === undefined) continue;
    const logs = answers.flatMap(({ result }) => result as { blockNumber: string }[]);
    found.sampled += width;
    found.logs += logs.length;
    found.blocks += new Set(logs.map(({ blockNumber }) => blockNumber)).size;
  }
  if (found.sampled === 0) return undefined;
  const scale = blocks / found.sampled;
  const logs = found.logs * scale;
  return { logs, requests: found.blocks * scale + filters.length * Math.max(20, logs / 2_000) };
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

type Block = { number: string; timestamp: string; transactions: unknown[] };

type Filter = ReturnType<typeof logFilters>["filters"][number];

/** A URL that serves its chain, and what findings about it are made with. */
type Tried = ReturnType<typeof about> & {
  ask: Ask;
  chain: IndexedChain;
  config: Config;
  filters: ReturnType<typeof logFilters>;
  latest: Block;
  head: number;
  /** Blocks that one request for logs covers; 0 until that is known. */
  range: number;
};

/** What is asked of each URL. */
const probes: readonly ((tried: Tried) => Promise<readonly Finding[] | undefined>)[] = [
  async ({ ok, warning, chain, latest, head }) => {
    const age = Math.round(Date.now() / 1000 - Number(latest.timestamp));
    if (age <= 300) return [ok(`chain ${chain.id}, head ${head}`)];
    const remedy = "Use a node that has caught up, unless the chain stands still.";
    return [warning(`head ${head}, ${spanOf(age)} old`, remedy)];
  },
  async ({ ask, fail, filters, head }) => {
    const first = Math.min(filters.first, head);
    const failure = await failureOf(ask("eth_getBlockByNumber", toHex(first), false));
    return failure && [fail(`no block ${first}: ${failure.message}`, "Use a node with all blocks.")];
  },
  async ({ ask, warning, fail, filters, head, config }) => {
    const readers = config.plugins.filter((id) => id === "threedns" || id === "protocol-acceleration");
    const first = Math.min(filters.first, head);
    const asked = readers.length > 0 && ask("eth_getBalance", `0x${"0".repeat(40)}`, toHex(first));
    const failure = asked ? await failureOf(asked) : undefined;
    const need = `need it: ${readers.join(", ")}.`;
    if (failure instanceof MissingMethodError)
      return [
        warning(
          `no eth_getBalance: ${failure.message}`,
          `Whether it has old state is not known. These ${need}`,
        ),
      ];
    return (
      failure && [
        fail(`no state of block ${first}: ${failure.message}`, `Use an archive node: these ${need}`),
      ]
    );
  },
  async ({ ask, warning, head }) => {
    const failure = await failureOf(ask("eth_getBlockReceipts", toHex(head)));
    const remedy = "Logs are checked by single receipts, which takes more requests.";
    return failure && [warning(`no eth_getBlockReceipts: ${failure.message}`, remedy)];
  },
  widestRange,
  traces,
  rate,
];

async function widestRange(tried: Tried): Promise<Finding[]> {
  const { ask, ok, warning, fail, head, filters } = tried;
  let problem = "";
  for (const range of [10_000, 2_000, 1_000, 500, 100, 10, 1]) {
    try {
      for (const filter of filters.filters)
        await ask("eth_getLogs", logsQuery(filter, Math.max(0, head - range + 1), head));
      tried.range = range;
      if (range >= 500) return [ok(`eth_getLogs covers ${number(Math.min(range, head + 1))} blocks`)];
      const remedy = "Use another plan or node: the backfill takes many requests.";
      return [warning(`eth_getLogs covers ${range} blocks: ${problem}`, remedy)];
    } catch (error) {
      problem = (error as Error).message;
    }
  }
  return [fail(`no eth_getLogs: ${problem}`, "Use a node that serves logs.")];
}

/** Whether the root chain's node traces the newest of its transactions; nothing if the last blocks are empty. */
async function traces({ ask, ok, warning, chain, config, latest }: Tried): Promise<Finding[] | undefined> {
  if (chain.id !== config.rootChainId || config.isSubgraphCompatible) return undefined;
  const method = "debug_traceTransaction";
  let block = latest;
  for (let tries = 0; tries < 20 && block.transactions.length === 0 && Number(block.number) > 0; tries++) {
    const before = ask("eth_getBlockByNumber", toHex(Number(block.number) - 1), false);
    block = (await before).result as Block;
  }
  const [hash] = block.transactions;
  if (hash === undefined) return undefined;
  const failure = await failureOf(ask(method, hash, { tracer: "callTracer" }));
  if (failure === undefined) return [ok(method)];
  const remedy = "Use a node with it: some names under addr.reverse stay unknown.";
  return [warning(`no ${method}: ${failure.message}`, remedy)];
}

async function rate({ ask, ok, warning, chain, config }: Tried): Promise<Finding[]> {
  const sent = Math.min(config.rpcRequestsPerSecond ?? 20, 100);
  const outcomes = await Promise.allSettled(
    Array.from({ length: sent }, async (_, index) => {
      await wait((index * 1_000) / sent);
      return (await ask("eth_getBlockByNumber", "latest", false)).ms;
    }),
  );
  const times = outcomes
    .flatMap((one) => (one.status === "fulfilled" ? [one.value] : []))
    .sort((a, b) => a - b);
  const refusal = outcomes.find((one) => one.status === "rejected");
  const found = `${times.length} of ${sent} requests a second answered, median ${times[times.length >> 1] ?? "-"} ms`;
  if (refusal === undefined) return [ok(found)];
  const remedy = `Set RPC_REQUESTS_PER_SECOND=${Math.max(1, times.length >> 1)}, or add a URL to RPC_URL_${chain.id}.`;
  return [warning(`${found}; ${(refusal.reason as Error).message}`, remedy)];
}
