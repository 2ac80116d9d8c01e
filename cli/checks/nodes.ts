import { toHex, zeroAddress } from "viem";
import type { IndexedChain } from "../../src/config/chains.ts";
import type { Config } from "../../src/config/environment.ts";
import { contractSources, logFilters } from "../../src/config/sources.ts";
import { formatSpan, seeOperations } from "../../src/log/json-log.ts";
import { requestChainId, requestHash, requestRpc } from "../../src/ponder/rpc-request.ts";
import { believedOfUrls } from "../../src/rpc/believed.ts";
import { about, type Finding } from "./finding.ts";

/** Names an RPC URL by variable, position and host, because URLs can contain keys. */
export function nameUrl(chainId: number, urls: readonly string[], index: number): string {
  const host = URL.canParse(urls[index] ?? "") ? new URL(urls[index] ?? "").host : "?";
  const entry = urls.length === 1 ? "" : ` entry ${index + 1}`;
  return `RPC_URL_${chainId}${entry} (${host})`;
}

/**
 * Checks that each chain has an RPC URL that responds, and none of another chain. A chain of which `readKnown` knows
 * blocks, by chain id, may be silent.
 */
export async function examineUrls(
  { chains }: Pick<Config, "chains">,
  readKnown: () => Promise<Record<number, unknown>> = async () => ({}),
): Promise<Finding[]> {
  const { ok, warning, away, fail } = about("RPC");
  const found = chains.map(async ({ id, rpc, trustedBlock: trusted }) => {
    const silent: string[] = [];
    const others: Finding[] = [];
    const asked = rpc.http.map(async (url, index) => {
      const name = nameUrl(id, rpc.http, index);
      const served = await requestChainId(url).catch(() => undefined);
      if (served === undefined) silent.push(name);
      else if (served !== id)
        others.push(fail(`${name} serves chain ${served}, not chain ${id}`, `Correct RPC_URL_${id}.`));
      else if (trusted !== undefined) {
        // A node that fails or is behind is asked again when the block is needed.
        const hash = await requestHash(url, trusted.number).catch(() => undefined);
        if (hash !== undefined && hash !== trusted.hash)
          others.push(
            fail(
              `Block ${trusted.number} of chain ${id} is ${hash} at ${name}, but the trusted one is ${trusted.hash}`,
              `Correct TRUSTED_BLOCK_${id} or RPC_URL_${id}.`,
            ),
          );
      }
    });
    await Promise.all(asked);
    if (others.length > 0) return others;
    const said = `No response from ${silent.sort().join(", ")}`;
    if (silent.length === asked.length && id in (await readKnown()))
      return [warning(`${said}; continuing without chain ${id}`, "", seeOperations("When a chain pauses"))];
    if (silent.length === asked.length) return [away(said, "")];
    return [
      silent.length > 0
        ? warning(
            `${said}; continuing with the others`,
            "",
            seeOperations("When a dependency is unavailable"),
          )
        : ok(`chain ${id} responds`),
    ];
  });
  return (await Promise.all(found)).flat();
}

/** Checks that each RPC URL serves an index's requests, and reports what nothing proves. */
export async function examineNodes(config: Config): Promise<Finding[]> {
  const chains = config.chains.map(async (chain) => {
    const urls = chain.rpc.http.map((_, index) => examineNode(chain, index, config));
    return [...(await Promise.all(urls)).flat(), ...checkBelieved(chain, config)];
  });
  return (await Promise.all(chains)).flat();
}

type Block = { number: string; timestamp: string; transactions: unknown[] };

async function examineNode(chain: IndexedChain, index: number, config: Config): Promise<Finding[]> {
  const { id, rpc } = chain;
  const url = rpc.http[index] ?? "";
  const { ok, warning, fail } = about(nameUrl(id, rpc.http, index));
  try {
    // `examineUrls` reports it.
    if (Number(await askUrl(url, "eth_chainId", [])) !== id) return [];
    const latest = (await askUrl(url, "eth_getBlockByNumber", ["latest", false])) as Block;
    const age = Math.round(Date.now() / 1000 - Number(latest.timestamp));
    const head = `chain ${id}, head ${Number(latest.number)}, ${formatSpan(Math.abs(age))} ${age < 0 ? "ahead of the clock" : "old"}`;
    const late = "Use a node that has caught up, unless the chain stands still; set the clock (NTP).";
    const findings = [age < -30 || age > 300 ? warning(head, late) : ok(head)];
    for (const { requests, lacks, remedy, isRequired } of listNeeds(chain, config, latest)) {
      const refusal = await findRefusal(url, requests);
      if (refusal !== undefined) findings.push((isRequired ? fail : warning)(`${lacks}: ${refusal}`, remedy));
    }
    return findings;
  } catch (error) {
    return [fail((error as Error).message, `Correct or remove this URL of RPC_URL_${id}.`)];
  }
}

type Request = readonly [method: string, params: unknown[]];

/** Result of a request to a URL. Rejects with the reason in a few words. */
export async function askUrl(url: string, ...[method, params]: Request): Promise<unknown> {
  const { status, result, error } = await requestRpc(url, { method, params }).catch(
    ({ name, cause, message }: Error & { cause?: { code?: string } }) => {
      throw new Error(name === "TimeoutError" ? "no response in 10 s" : (cause?.code ?? message));
    },
  );
  if (error) throw new Error(String(error.message ?? "an error").slice(0, 150));
  if (status < 200 || status > 299 || result === undefined) throw new Error(`HTTP ${status}, no result`);
  return result;
}

async function findRefusal(url: string, requests: readonly Request[]): Promise<string | undefined> {
  try {
    for (const request of requests) if ((await askUrl(url, ...request)) === null) return "not found";
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Requests of an index, what a node that refuses them lacks, and whether an index needs it. */
type Need = { requests: Request[]; lacks: string; remedy: string; isRequired?: boolean };

function listNeeds(chain: IndexedChain, config: Config, { number, transactions }: Block): Need[] {
  const { filters, first: start } = logFilters(Object.values(contractSources(config)), chain.name);
  const head = Number(number);
  const first = Math.min(start, head);
  const logsOf = (blocks: number) =>
    filters.map(({ addresses, topics }): Request => {
      const range = { fromBlock: toHex(Math.max(0, head - blocks + 1)), toBlock: number };
      return ["eth_getLogs", [{ ...range, topics: [topics], ...(addresses && { address: addresses }) }]];
    });
  const needs: Need[] = [
    {
      requests: logsOf(1),
      ...{ lacks: "no eth_getLogs", remedy: "Use a node that serves logs.", isRequired: true },
    },
    {
      requests: logsOf(500),
      lacks: "no eth_getLogs of 500 blocks",
      remedy: "Use another plan or node: the backfill takes many requests.",
    },
    {
      requests: [["eth_getBlockReceipts", [number]]],
      lacks: "no eth_getBlockReceipts",
      remedy: "Use a node with it: nothing else proves which logs a block has.",
      isRequired: config.needsProofs,
    },
  ];
  const readers = config.plugins.filter((id) => id === "threedns" || id === "protocol-acceleration");
  if (readers.length > 0)
    needs.push({
      requests: [["eth_getBalance", [zeroAddress, toHex(first)]]],
      lacks: `no state of block ${first}`,
      remedy: `Use an archive node: these need it: ${readers.join(", ")}.`,
      isRequired: true,
    });
  const [hash] = transactions;
  if (chain.id === config.rootChainId && !config.isSubgraphCompatible && hash !== undefined)
    needs.push({
      requests: [["debug_traceTransaction", [hash, { tracer: "callTracer" }]]],
      lacks: "no debug_traceTransaction",
      remedy: "Use a node with it: some names under addr.reverse stay unknown.",
    });
  return needs;
}

function checkBelieved({ name, isLocal, rpc }: IndexedChain, config: Config): Finding[] {
  const urls = new Set(rpc.http).size;
  const believed = believedOfUrls(urls, config.rpcCrossCheckPercent / 100, config.needsProofs);
  if (believed.length === 0) return [];
  const found = `believed without proof: ${believed.join("; ")}`;
  const { ok, warning } = about(`proof of ${name}`);
  const remedy = "Add a URL of another provider, and compare after the backfill: npm run cache -- check.";
  return [!isLocal ? warning(found, remedy) : ok(found)];
}
