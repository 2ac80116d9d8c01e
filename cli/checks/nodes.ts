import { setTimeout as wait } from "node:timers/promises";
import { toHex, zeroAddress } from "viem";
import type { IndexedChain } from "../../src/config/chains.ts";
import type { Config } from "../../src/config/environment.ts";
import { contractSources, logFilters } from "../../src/config/sources.ts";
import { seeOperations, spanOf } from "../../src/log/json-log.ts";
import { requestChainId, requestRpc } from "../../src/ponder/rpc-request.ts";
import { believedOfUrls } from "../../src/rpc/believed.ts";
import { about, type Finding } from "./finding.ts";

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

/** What each RPC URL has and does, and the clock by their answers. */
export async function examineNodes(config: Config): Promise<Finding[]> {
  const skews: number[] = [];
  const chains = await Promise.all(config.chains.map((chain) => examineChain(chain, config, skews)));
  return [...chains.flat(), clockFinding(skews)];
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

type Answer = { result: unknown; ms: number; skewMs: number | undefined };
type Ask = (method: string, ...params: unknown[]) => Promise<Answer>;

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
  if (error) throw new Error(String(error.message ?? "an error").slice(0, 150));
  if (status < 200 || status > 299 || result === undefined) throw new Error(`HTTP ${status}, no result`);
  const date = Date.parse(headers.get("date") ?? "");
  const skewMs = Number.isNaN(date) ? undefined : (sent + Date.now()) / 2 - (date + 500);
  return { result, ms: Date.now() - sent, skewMs };
}

/** Why a request has no result; undefined if it has one. */
const failureOf = (answer: Promise<Answer>) =>
  answer.then(
    ({ result }) => (result === null ? "not found" : undefined),
    ({ message }: Error) => message,
  );

async function examineChain(chain: IndexedChain, config: Config, skews: number[]): Promise<Finding[]> {
  const { filters, first } = logFilters(Object.values(contractSources(config)), chain.name);
  const urls = chain.rpc.http.map(async (url, index): Promise<Finding[]> => {
    const subject = nameOfUrl(chain.id, chain.rpc.http, index);
    const ask: Ask = (method, ...params) => askUrl(url, method, params);
    try {
      const { result: id, skewMs } = await ask("eth_chainId");
      // The start's own check says so.
      if (Number(id) !== chain.id) return [];
      if (skewMs !== undefined) skews.push(skewMs);
      const latest = (await ask("eth_getBlockByNumber", "latest", false)).result as Block;
      const head = Number(latest.number);
      const block = { latest, head, first: Math.min(first, head) };
      const tried: Tried = { ...about(subject), ...block, ask, chain, config, filters };
      const findings: (Finding | undefined)[] = [];
      for (const probe of probes) findings.push(await probe(tried));
      return findings.filter((finding) => finding !== undefined);
    } catch (error) {
      const remedy = `Correct or remove this URL of RPC_URL_${chain.id}.`;
      return [about(subject).fail((error as Error).message, remedy)];
    }
  });
  return [...(await Promise.all(urls)).flat(), ...believedFinding(chain, config)];
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

/** A URL that serves its chain, the first block to index of those it has, and what findings about it are made with. */
type Tried = ReturnType<typeof about> & {
  ask: Ask;
  chain: IndexedChain;
  config: Config;
  filters: ReturnType<typeof logFilters>["filters"];
  latest: Block;
  head: number;
  first: number;
};

/** What is asked of each URL. */
const probes: readonly ((tried: Tried) => Promise<Finding | undefined>)[] = [
  async ({ ok, warning, chain, latest, head }) => {
    const age = Math.round(Date.now() / 1000 - Number(latest.timestamp));
    if (age <= 300) return ok(`chain ${chain.id}, head ${head}`);
    const remedy = "Use a node that has caught up, unless the chain stands still.";
    return warning(`head ${head}, ${spanOf(age)} old`, remedy);
  },
  async ({ ask, fail, first }) => {
    const failure = await failureOf(ask("eth_getBlockByNumber", toHex(first), false));
    return failure ? fail(`no block ${first}: ${failure}`, "Use a node with all blocks.") : undefined;
  },
  async ({ ask, fail, first, config }) => {
    const readers = config.plugins.filter((id) => id === "threedns" || id === "protocol-acceleration");
    if (readers.length === 0) return undefined;
    const failure = await failureOf(ask("eth_getBalance", zeroAddress, toHex(first)));
    const remedy = `Use an archive node: these need it: ${readers.join(", ")}.`;
    return failure ? fail(`no state of block ${first}: ${failure}`, remedy) : undefined;
  },
  async ({ ask, warning, head }) => {
    const failure = await failureOf(ask("eth_getBlockReceipts", toHex(head)));
    const remedy = "Logs are checked by single receipts, which takes more requests.";
    return failure ? warning(`no eth_getBlockReceipts: ${failure}`, remedy) : undefined;
  },
  widestRange,
  traces,
  rate,
];

async function widestRange({ ask, ok, warning, fail, head, filters }: Tried): Promise<Finding> {
  let problem = "";
  for (const range of [10_000, 2_000, 1_000, 500, 100, 10, 1]) {
    try {
      const [fromBlock, toBlock] = [toHex(Math.max(0, head - range + 1)), toHex(head)];
      for (const { addresses, topics } of filters)
        await ask("eth_getLogs", {
          ...{ fromBlock, toBlock, topics: [topics] },
          ...(addresses && { address: addresses }),
        });
      if (range >= 500) return ok(`eth_getLogs covers ${number(Math.min(range, head + 1))} blocks`);
      const remedy = "Use another plan or node: the backfill takes many requests.";
      return warning(`eth_getLogs covers ${range} blocks: ${problem}`, remedy);
    } catch (error) {
      problem = (error as Error).message;
    }
  }
  return fail(`no eth_getLogs: ${problem}`, "Use a node that serves logs.");
}

/** Whether the root chain's node traces the newest of its transactions; nothing if the last blocks are empty. */
async function traces({ ask, ok, warning, chain, config, latest }: Tried): Promise<Finding | undefined> {
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
  if (failure === undefined) return ok(method);
  const remedy = "Use a node with it: some names under addr.reverse stay unknown.";
  return warning(`no ${method}: ${failure}`, remedy);
}

async function rate({ ask, ok, warning, chain, config }: Tried): Promise<Finding> {
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
  if (refusal === undefined) return ok(found);
  const remedy = `Set RPC_REQUESTS_PER_SECOND=${Math.max(1, times.length >> 1)}, or add a URL to RPC_URL_${chain.id}.`;
  return warning(`${found}; ${(refusal.reason as Error).message}`, remedy);
}
