// Repairs Ponder's cache of blocks: `npm run cache -- purge …`.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ConfigurationError, readConfig } from "../src/config/environment.ts";
import { type CachedRange, CacheInUseError, type Purge, purgeCache } from "../src/ponder/cache.ts";
import { holdEmbeddedDatabase, openDatabase, PreflightError } from "./preflight.ts";

const usage = `Usage: npm run cache -- purge --chain <id> --from <block> [--to <block>]

Removes a chain's blocks from the cache in the configured database (DATABASE_URL, else PGLITE_DIRECTORY), so that they
are fetched again: blocks, transactions, receipts, logs, traces and results of requests. Without --to it removes all
blocks from --from on. Stop the chain's indexers first. Indexes that rest on removed blocks are listed; they do not
start again and need a new DATABASE_SCHEMA.`;

const numbers = ["chain", "from", "to"] as const;

/** The blocks that the arguments after `purge` name. Throws a PreflightError that lists every fault of them. */
export function parsePurge(args: string[]): CachedRange {
  const { tokens } = parseArgs({
    args,
    options: { chain: { type: "string" }, from: { type: "string" }, to: { type: "string" } },
    strict: false,
    tokens: true,
  });
  const given = new Map<string, string>();
  const faults: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") faults.push(`Unexpected argument ${JSON.stringify(token.value)}.`);
    if (token.kind !== "option") continue;
    if (!numbers.some((name) => name === token.name)) faults.push(`Unknown option ${token.rawName}.`);
    else if (given.has(token.name)) faults.push(`--${token.name} is given twice.`);
    given.set(token.name, token.value ?? "");
  }
  for (const name of numbers) {
    const text = given.get(name);
    if (text === undefined && name !== "to") faults.push(`--${name} is missing.`);
    if (text === undefined || (/^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text)))) continue;
    faults.push(`--${name} is ${JSON.stringify(text)}; expected a whole number from 0.`);
  }
  const to = given.get("to");
  const range = { chainId: Number(given.get("chain")), from: Number(given.get("from")) };
  if (to !== undefined && Number(to) < range.from) faults.push("--to is before --from.");
  if (faults.length > 0) throw new PreflightError(`${faults.join("\n")}\n\n${usage}`);
  return to === undefined ? range : { ...range, to: Number(to) };
}

async function main([command, ...args]: string[]): Promise<string> {
  if (command === "--help" || args.includes("--help")) return usage;
  if (command !== "purge")
    throw new PreflightError(`Unknown command ${JSON.stringify(command ?? "")}.\n\n${usage}`);
  const range = parsePurge(args);
  const envFile = join(process.cwd(), ".env.local");
  if (existsSync(envFile)) process.loadEnvFile(envFile);
  const config = readConfig();
  const { databaseUrl, pgliteDirectory } = config;
  if (databaseUrl === undefined && existsSync(pgliteDirectory)) holdEmbeddedDatabase(pgliteDirectory);
  const database = await openDatabase(config);
  if (database === undefined) return `There is no database in ${pgliteDirectory}.`;
  try {
    return report(range, await purgeCache(database.run, range, Date.now()));
  } finally {
    await database.close();
  }
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
