// A portable archive of what an index reads of its chains: `npm run archive -- record | export | extend | info | fetch | check`.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openNodes } from "../src/archive/ask.ts";
import { exportCache } from "../src/archive/cache-export.ts";
import { type ArchiveCheck, checkArchive, compareWithNode } from "../src/archive/check.ts";
import { fetchArchive, nameOfPlace, openManifest, readManifest } from "../src/archive/folder.ts";
import { ArchiveError, levels, type Manifest } from "../src/archive/manifest.ts";
import { gapsByRange, recordChain } from "../src/archive/record.ts";
import { wantedOf } from "../src/archive/wanted.ts";
import type { IndexedChain } from "../src/config/chains.ts";
import { type Config, ConfigurationError, readConfig } from "../src/config/environment.ts";
import { counted } from "../src/log/json-log.ts";
import { unionOf } from "../src/operations/cache.ts";
import { mostWrong, randomOf } from "./cache.ts";
import { holdEmbeddedDatabase, openDatabase, PreflightError } from "./preflight.ts";

const usage = `Usage: npm run archive -- record [--chain <id>] [--to <block>] [--receipts]
       npm run archive -- export [--chain <id>]
       npm run archive -- extend [--chain <id>] [--to <block>] [--receipts]
       npm run archive -- info
       npm run archive -- fetch <URL> [--chain <id>]
       npm run archive -- check [--rpc <url> --chain <id>] [--samples <n>] [--seed <n>]

The archive is in --folder <folder>, else in ARCHIVE if that is a folder, else in ./archive; the chains are those of the
configuration.

record fetches what the archive lacks from the RPC URLs: logs of the contracts that any plugin reads, their blocks' headers, the
senders of their transactions. It stops at the finalized block, or earlier at --to, and resumes. --receipts records whole blocks, so
that no log can be missing unseen; many times as large. export writes what the RPC cache of the configured database has and the archive
lacks, with the results of what handlers asked of nodes beyond logs: calls of contracts at old blocks, receipts and traces. extend is
record for the chains that the archive has. fetch downloads an archive, and resumes. check recomputes all that an archive says of
itself; with --rpc it also compares the last block of each segment with a node, and random blocks (300 unless --samples is given). It
exits with code 1 if anything is wrong.`;

const commands = ["record", "export", "extend", "info", "fetch", "check"] as const;
type Command = (typeof commands)[number];

/** What the arguments ask for. Throws a PreflightError that says what is wrong with them. */
export function parseCommand(args: string[]) {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  const options = { folder: text, chain: text, to: text, rpc: text, samples: text, seed: text } as const;
  let parsed: ReturnType<typeof parseAll>;
  const parseAll = () => parseArgs({ args, options: { ...options, receipts: flag }, allowPositionals: true });
  try {
    parsed = parseAll();
  } catch (error) {
    throw new PreflightError(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  }
  const { values, positionals } = parsed;
  const [command, url, ...more] = positionals;
  const faults: string[] = [];
  const number = (name: "chain" | "to" | "samples" | "seed") => {
    const given = values[name];
    if (given !== undefined && !/^\d{1,15}$/.test(given))
      faults.push(`--${name} is ${JSON.stringify(given)}; expected a whole number from 0.`);
    return given === undefined ? undefined : Number(given);
  };
  const numbers = {
    chain: number("chain"),
    to: number("to"),
    samples: number("samples"),
    seed: number("seed"),
  };
  const known = commands.find((one) => one === command);
  if (known === undefined) faults.push(`Unknown command ${JSON.stringify(command ?? "")}.`);
  if ((known === "fetch") !== (url !== undefined) || more.length > 0)
    faults.push("fetch takes one URL; the other commands take none.");
  if (known === "fetch" && url !== undefined && !isUrl(url)) faults.push("fetch takes an http(s):// URL.");
  if (values.rpc !== undefined && !isUrl(values.rpc)) faults.push("--rpc must be an http(s):// URL.");
  if (values.rpc !== undefined && numbers.chain === undefined) faults.push("--rpc needs --chain.");
  if (faults.length > 0) throw new PreflightError(`${faults.join("\n")}\n\n${usage}`);
  return { command: known as Command, url: url ?? "", ...values, ...numbers };
}

const isUrl = (text: string) => /^https?:\/\//.test(text) && URL.canParse(text);

type Asked = ReturnType<typeof parseCommand>;
const say = (line: string) => console.error(line);
const format = (value: number) => Math.round(value).toLocaleString("en");

async function main(args: string[]): Promise<string> {
  if (args.includes("--help")) return usage;
  const asked = parseCommand(args);
  const envFile = join(process.cwd(), ".env.local");
  if (existsSync(envFile)) process.loadEnvFile(envFile);
  const config = readConfig();
  const chains = config.chains.filter(({ id }) => asked.chain === undefined || asked.chain === id);
  if (chains.length === 0)
    throw new PreflightError(`Chain ${asked.chain} is not indexed by this configuration.`);
  const own = config.archive !== undefined && !config.archive.includes("://") ? config.archive : "archive";
  const folder = asked.folder ?? own;
  const place = asked.folder ?? config.archive ?? own;
  if (asked.command === "info")
    return (await Promise.all(chains.map((chain) => infoOf(place, chain)))).join("\n");
  if (asked.command === "export") return exportAll(config, chains, folder);
  const lines: string[] = [];
  for (const chain of chains) {
    if (asked.command === "fetch") lines.push(await fetchOne(asked, folder, chain));
    else if (asked.command === "check") lines.push(await checkOne(asked, { place, chain }));
    else lines.push(await recordOne(asked, config, { folder, chain }));
  }
  return lines.filter((line) => line !== "").join("\n");
}

async function infoOf(place: string, { id, name }: IndexedChain): Promise<string> {
  const manifest = await readManifest(place, id);
  return manifest === undefined
    ? `${name} (${id}): nothing in ${nameOfPlace(place)}`
    : `${name} (${id}): ${summary(manifest)}`;
}

function summary(manifest: Manifest): string {
  const { segments, children, results = [] } = manifest;
  const sum = (of: (segment: Manifest["segments"][number]) => number) =>
    segments.reduce((all, one) => all + of(one), 0);
  const [logs, bytes] = [sum((one) => one.logs), sum((one) => one.bytes)];
  const ranges = unionOf(segments).map(({ from, to }) => `${format(from)} to ${format(to)}`);
  const proof = Object.keys(levels).map(
    (level) => `${level} ${format(sum((one) => one.proof[level as "bloom"]))}`,
  );
  const calls = results.reduce((all, { count }) => all + count, 0);
  const deployed = Object.values(children).reduce((all, { length }) => all + length, 0);
  return [
    `blocks ${ranges.join(", ") || "none"}; ${counted(logs, "log")} in ${counted(
      sum((one) => one.blocks),
      "block",
    )} and ` +
      `${counted(segments.length, "segment")}; ${format(bytes)} bytes, ${(bytes / Math.max(1, logs)).toFixed(1)} a log`,
    `  blocks by what proves them: ${proof.join(", ")}${deployed > 0 ? `; contracts of factories: ${format(deployed)}` : ""}${calls > 0 ? `; results of calls: ${format(calls)}` : ""}`,
  ].join("\n");
}

async function exportAll(config: Config, chains: readonly IndexedChain[], folder: string): Promise<string> {
  const { databaseUrl, pgliteDirectory } = config;
  if (databaseUrl === undefined && existsSync(pgliteDirectory)) holdEmbeddedDatabase(pgliteDirectory);
  const database = await openDatabase(config);
  if (database === undefined) throw new PreflightError(`There is no database in ${pgliteDirectory}.`);
  try {
    const lines: string[] = [];
    let hasAny = false;
    for (const { id, name } of chains) {
      const progress = (at: number, logs: number) =>
        say(`${name}: block ${format(at)}, ${format(logs)} logs`);
      const manifest = await exportCache(database.run, { folder, chainId: id, progress });
      const isEmpty = manifest.segments.length === 0;
      hasAny ||= !isEmpty;
      lines.push(`${name} (${id}): ${isEmpty ? "the RPC cache has nothing to export" : summary(manifest)}`);
    }
    if (!hasAny) process.exitCode = 1;
    return lines.join("\n");
  } finally {
    await database.close();
  }
}

async function fetchOne({ url }: Asked, folder: string, { id, name }: IndexedChain): Promise<string> {
  if ((await readManifest(url, id)) === undefined)
    return `${name} (${id}): ${nameOfPlace(url)} has nothing of it`;
  const manifest = await fetchArchive(url, folder, id, (done, of, bytes) => {
    if (bytes > 0) say(`${name}: file ${done} of ${of}`);
  });
  return `${name} (${id}): ${summary(manifest)}`;
}

async function checkOne(
  { rpc, samples = 300, seed = Date.now() % 1_000_000 }: Asked,
  { place, chain }: { place: string; chain: IndexedChain },
) {
  const manifest = await readManifest(place, chain.id);
  if (manifest === undefined) return `${chain.name} (${chain.id}): nothing in ${nameOfPlace(place)}`;
  const progress = (done: number, of: number) => {
    if (done % 100 === 0) say(`${chain.name}: segment ${done} of ${of}`);
  };
  const found = await checkArchive({ place, manifest, progress });
  if (rpc !== undefined) {
    const { ask } = openNodes({ ...chain, rpc: { http: [rpc] } }, { perSecond: 20, log: say });
    const random = randomOf(seed);
    await compareWithNode({ place, manifest, found, samples, random, ask });
  }
  if (found.problems.length > 0) process.exitCode = 1;
  return `${chain.name} (${chain.id}): ${reportOf(found, rpc === undefined ? undefined : seed)}`;
}

const shownProblems = 20;

/** The findings of a check as text; `seed` if a node was asked. */
export function reportOf(
  { problems, lacking, proof, ...found }: ArchiveCheck,
  seed: number | undefined,
): string {
  const counts = Object.entries(proof).map(([level, count]) => `${level} ${format(count)}`);
  return [
    `${counted(found.logs, "log")} in ${counted(found.blocks, "block")} and ${counted(found.segments, "segment")}; blocks that follow the one before: ${format(found.links)}`,
    `  blocks by what proves them: ${counts.join(", ")}`,
    ...(lacking.length > 0
      ? [
          `  blocks whose bloom names a contract and event of which there is no log, by chance or not: ${format(lacking.length)}`,
        ]
      : []),
    ...(found.results > 0 ? [`  results of calls, which nothing proves: ${format(found.results)}`] : []),
    ...(seed === undefined
      ? []
      : [
          `  compared with the node (seed ${seed}): last blocks of ${counted(found.segments, "segment")}, ${counted(found.compared, "block")} with their logs`,
        ]),
    ...problems.slice(0, shownProblems).map((problem) => `  WRONG: ${problem}`),
    ...(problems.length > shownProblems ? [`  and ${problems.length - shownProblems} more`] : []),
    `  ${verdictOf({ problems, lacking, ...found }, seed !== undefined)}`,
  ].join("\n");
}

/** What a check shows, in words: no more than was looked at. */
function verdictOf(found: Omit<ArchiveCheck, "proof">, isCompared: boolean): string {
  const { problems, lacking, blocks, compared, comparedLacking } = found;
  const open = lacking.length - comparedLacking;
  const openText = `${counted(open, "block")} may lack a log`;
  if (problems.length > 0) return "This archive is wrong: fetch or record it again.";
  if (!isCompared)
    return `It does not contradict itself${open > 0 ? `, but ${openText}` : ""}. Whether its blocks are the chain's, a node tells: --rpc <url> --chain <id>.`;
  const shown =
    compared === blocks
      ? "No block differs from the node's."
      : `No difference: with 95 % certainty fewer than ${mostWrong(compared)} % of the blocks are changed.`;
  return open > 0 ? `${shown} ${openText}: raise --samples.` : shown;
}

async function recordOne(
  asked: Asked,
  config: Config,
  { folder, chain }: { folder: string; chain: IndexedChain },
) {
  const manifest = await openManifest(folder, chain.id);
  if (asked.command === "extend" && manifest.segments.length === 0)
    return `${chain.name}: nothing to extend in ${folder}`;
  const wanted = wantedOf(config, chain.name);
  const nodes = openNodes(chain, { perSecond: config.rpcRequestsPerSecond, log: say });
  const finalized = await nodes.finalizedBlock();
  if (asked.to !== undefined && asked.to > finalized)
    say(`${chain.name}: block ${format(asked.to)} is not final; recording up to block ${format(finalized)}`);
  const range = { from: wanted.first, to: Math.min(asked.to ?? finalized, finalized) };
  const gaps = gapsByRange(manifest, { ...wanted, range });
  if (gaps.length === 0 || range.to < range.from)
    return `${chain.name} (${chain.id}): nothing is missing up to block ${format(range.to)}`;
  const withReceipts = asked.receipts ?? false;
  say(
    `${chain.name}: blocks ${format(range.from)} to ${format(range.to)} at ${format(nodes.perSecond)} requests a second`,
  );
  const recorded = await recordChain({
    ...wanted,
    ...{ folder, range, chainId: chain.id, withReceipts },
    ...{ ask: nodes.ask, width: nodes.width },
    progress: ({ at, logs, bytes }) =>
      say(`${chain.name}: block ${format(at)}, ${format(logs)} logs, ${format(bytes)} bytes`),
  });
  return `${chain.name} (${chain.id}): ${summary(recorded)}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.log(await main(process.argv.slice(2)));
  } catch (error) {
    const expected = [ConfigurationError, PreflightError, ArchiveError];
    console.error(expected.some((kind) => error instanceof kind) ? (error as Error).message : error);
    process.exitCode = 1;
  }
}
