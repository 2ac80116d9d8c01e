// Checks and repairs Ponder's cache of blocks: `npm run cache -- check …`, `npm run cache -- purge …`.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { IndexedChain } from "../src/config/chains.ts";
import { ConfigurationError, readConfig } from "../src/config/environment.ts";
import {
  type CachedRange,
  CacheInUseError,
  mergeRanges,
  type Purge,
  purgeCache,
  purgeCommands,
  unverifiedSection,
} from "../src/operations/cache.ts";
import { type CacheCheck, checkCache } from "../src/operations/cache-check.ts";
import { requestRpc } from "../src/ponder/rpc-request.ts";
import type { Statement } from "../src/ponder/sql-client.ts";
import { type NodesOptions, newNode, newNodes, type RpcRequest } from "../src/rpc/nodes.ts";
import { holdEmbeddedDatabase, openDatabase, PreflightError } from "./preflight.ts";

const usage = `Usage: npm run cache -- purge --chain <id> --from <block> [--to <block>]
       npm run cache -- check --chain <id> [--from <block>] [--to <block>] [--samples <n>] [--seed <n>]

The cache is that of the configured database (DATABASE_URL, else PGLITE_DIRECTORY).

purge removes a chain's blocks, so that they are fetched again: blocks, transactions, receipts, logs, traces and results of
requests. Without --to it removes all blocks from --from on. Stop the chain's indexers first. Indexes that rest on removed
blocks are listed; they do not start again and need a new DATABASE_SCHEMA.

check asks the chain's RPC URLs again for a random sample of the cached ranges (100 unless --samples is given), compares the
logs, prints each difference and what to purge, and exits with code 1 if there is one. Indexers may run meanwhile.`;

const numbers = ["chain", "from", "to", "samples", "seed"] as const;

/** The numbers that the arguments of a command give. Throws a PreflightError that lists every fault of them. */
export function parseNumbers<Name extends string>(
  args: string[],
  { allowed, required, usage }: { allowed: readonly Name[]; required: readonly Name[]; usage: string },
) {
  const options = Object.fromEntries(allowed.map((name) => [name, { type: "string" as const }]));
  const { tokens } = parseArgs({ args, options, strict: false, tokens: true });
  const given = new Map<string, string>();
  const faults: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") faults.push(`Unexpected argument ${JSON.stringify(token.value)}.`);
    if (token.kind !== "option") continue;
    if (!allowed.some((name) => name === token.name)) faults.push(`Unknown option ${token.rawName}.`);
    else if (given.has(token.name)) faults.push(`--${token.name} is given twice.`);
    given.set(token.name, token.value ?? "");
  }
  for (const name of allowed) {
    const text = given.get(name);
    if (text === undefined && required.includes(name)) faults.push(`--${name} is missing.`);
    if (text === undefined || (/^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text)))) continue;
    faults.push(`--${name} is ${JSON.stringify(text)}; expected a whole number from 0.`);
  }
  if (Number(given.get("to")) < Number(given.get("from"))) faults.push("--to is before --from.");
  if (faults.length > 0) throw new PreflightError(`${faults.join("\n")}\n\n${usage}`);
  return (name: Name) => (given.has(name) ? Number(given.get(name)) : undefined);
}

/** The blocks that the arguments after `purge` name. Throws a PreflightError that lists every fault of them. */
export function parsePurge(args: string[]): CachedRange {
  const number = parseNumbers(args, { allowed: ["chain", "from", "to"], required: ["chain", "from"], usage });
  const range = { chainId: number("chain") ?? 0, from: number("from") ?? 0 };
  const to = number("to");
  return to === undefined ? range : { ...range, to };
}

/** What the arguments after `check` ask for. Throws a PreflightError that lists every fault of them. */
export function parseCheck(args: string[]) {
  const number = parseNumbers(args, { allowed: numbers, required: ["chain"], usage });
  return {
    chainId: number("chain") ?? 0,
    from: number("from") ?? 0,
    to: number("to") ?? Number.MAX_SAFE_INTEGER,
    samples: number("samples") ?? 100,
    seed: number("seed") ?? Date.now() % 1_000_000,
  };
}

async function main([command, ...args]: string[]): Promise<string> {
  if (command === "--help" || args.includes("--help")) return usage;
  if (command !== "purge" && command !== "check")
    throw new PreflightError(`Unknown command ${JSON.stringify(command ?? "")}.\n\n${usage}`);
  const work = command === "purge" ? { purge: parsePurge(args) } : { check: parseCheck(args) };
  const envFile = join(process.cwd(), ".env.local");
  if (existsSync(envFile)) process.loadEnvFile(envFile);
  const config = readConfig();
  const { databaseUrl, pgliteDirectory } = config;
  if (databaseUrl === undefined && existsSync(pgliteDirectory)) holdEmbeddedDatabase(pgliteDirectory);
  const database = await openDatabase(config);
  if (database === undefined) return `There is no database in ${pgliteDirectory}.`;
  try {
    if (work.purge) return report(work.purge, await purgeCache(database.run, work.purge, Date.now()));
    const { text, isSound } = await check(database.run, config.chains, work.check);
    if (!isSound) process.exitCode = 1;
    return text;
  } finally {
    await database.close();
  }
}

/** Numbers from 0 to 1 that depend on the seed alone (the generator "mulberry32"). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

async function check(run: Statement, chains: readonly IndexedChain[], asked: ReturnType<typeof parseCheck>) {
  const chain = chains.find(({ id }) => id === asked.chainId);
  if (chain === undefined)
    throw new PreflightError(`Chain ${asked.chainId} is not indexed by this configuration.`);
  const ask = (url: string) => async (body: RpcRequest) => {
    const { result } = await requestRpc(url, body);
    if (result === undefined) throw new Error("the node answered with an error");
    return result;
  };
  const options: NodesOptions = {
    chain: chain.name,
    chainId: chain.id,
    isPublic: chain.isLocal !== true,
    crossCheckShare: 1,
    log: (_level, message, fields) => console.error(`${message} ${JSON.stringify(fields)}`),
    count: () => {},
    unverified: () => {},
    believe: () => {},
    random: randomOf(asked.seed),
    now: Date.now,
  };
  const nodes = newNodes(
    options,
    chain.rpc.http.map((url) => newNode(new URL(url).hostname, ask(url))),
  );
  const progress = (done: number) => {
    if (done % Math.max(1, Math.round(asked.samples / 10)) === 0)
      console.error(`${done} of ${asked.samples}`);
  };
  return reportCheck(await checkCache(run, nodes, { ...asked, progress }), asked);
}

function report({ chainId, from, to }: CachedRange, { removed, orphaned }: Purge): string {
  const counts = Object.entries(removed).map(([table, count]) => `  ${table}: ${count}`);
  const blocks = to === undefined ? `from ${from} on` : `${from} to ${to}`;
  return [
    `Removed from the cache of chain ${chainId}, blocks ${blocks}:`,
    ...(counts.length === 0 ? ["  nothing: the database has no cache"] : counts),
    ...orphaned.map(
      (schema) =>
        `The index in schema "${schema}" rests on removed blocks: build a new one under another DATABASE_SCHEMA.`,
    ),
  ].join("\n");
}

/** Percent of a whole that may be wrong at 95 % confidence if none of `samples` is. Exact for independent samples. */
export const mostWrong = (samples: number) =>
  (samples === 0 ? 100 : (1 - 0.05 ** (1 / samples)) * 100).toFixed(2);

const shownDifferences = 20;

function lineOf(difference: CacheCheck["differences"][number]): string {
  const { block, kind } = difference;
  if (kind === "header")
    return `  block ${block}: the cached block has another ${difference.fields.join(", ")} than its header`;
  const { logIndex, address, topics } = difference.log;
  return `  block ${block}: log ${Number(logIndex)} of ${address} (${topics[0] ?? "no event"}) is ${kind} in the cache`;
}

/** What a check found as text, with what to do; unsound if the cache differs from the chain. */
export function reportCheck(found: CacheCheck, { chainId, samples, seed }: ReturnType<typeof parseCheck>) {
  const { ranges, differingRanges, differences } = found;
  if (found.cachedBlocks === 0)
    return { text: `The database has no cached blocks of chain ${chainId}.`, isSound: true };
  const lines = [
    `Compared ${ranges} of ${samples} ranges (seed ${seed}): ${found.blocks} of ${found.cachedBlocks} cached blocks of chain ` +
      `${chainId}, ${found.logs} logs.`,
    ...differences.slice(0, shownDifferences).map(lineOf),
  ];
  if (differences.length > shownDifferences)
    lines.push(`  and ${differences.length - shownDifferences} more`);
  if (found.unanswered > 0)
    lines.push(`${found.unanswered} ranges could not be compared: the nodes do not answer.`);
  if (differingRanges.length === 0) {
    lines.push(
      `0 of ${ranges} ranges differ: at most ${mostWrong(ranges)} % of them are wrong, at 95 % confidence.`,
    );
    return { text: lines.join("\n"), isSound: ranges > 0 };
  }
  const merged = mergeRanges(differingRanges).map((range) => ({ chainId, ...range }));
  lines.push(
    `${differingRanges.length} of ${ranges} ranges differ. Stop the chain's indexers, remove these, and build new indexes:`,
    `  ${purgeCommands(merged, "\n  ")}`,
    `Others may differ too: compare again with more --samples, or remove all that the node returned. ${unverifiedSection}`,
  );
  return { text: lines.join("\n"), isSound: false };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.log(await main(process.argv.slice(2)));
  } catch (error) {
    const isExpected =
      error instanceof ConfigurationError ||
      error instanceof PreflightError ||
      error instanceof CacheInUseError;
    console.error(isExpected ? error.message : error);
    process.exitCode = 1;
  }
}
