// Compares the index with the chain: `npm run verify -- [--samples N] [--block N] [--name NAME] [--seed N]`.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { decodeFunctionResult, encodeFunctionData, type Hex, toEventSelector, toHex } from "viem";
import { chainName } from "../src/config/chains.ts";
import { type Config, ConfigurationError, readConfig } from "../src/config/environment.ts";
import { counted, escapeControls, seeOperations } from "../src/log/json-log.ts";
import { headSql, parseHead } from "../src/ponder/checkpoints.ts";
import { requestRpc } from "../src/ponder/rpc-request.ts";
import { hasTable, isDatabaseAway, quoted, type Statement } from "../src/ponder/sql-client.ts";
import { mostWrong, parseNumbers } from "./cache.ts";
import { holdEmbeddedDatabase, openDatabase, PreflightError } from "./preflight.ts";
import { missingRows } from "./verify/events.ts";
import { type Asked, events, type Heads, type Question, questionsOf, reads } from "./verify/questions.ts";

const usage = `Usage: npm run verify -- [--samples <n>] [--name <name>]... [--block <n>] [--seed <n>]

Compares rows of the index with what the contracts say, at the last indexed block of each chain: owner, resolver and ttl in the
registries, expiry and owner in the registrars, owner, fuses and expiry in the name wrappers, and addr, text and contenthash of the
public resolvers. It takes up to <n> random rows of each kind (200 unless --samples is given; 0 for the names alone), and all of
the names given; and events of the RPC cache behind as many random blocks, whose rows have to be there. --block compares the rows that have not changed since that block of the only chain; the node needs its state.
Five requests run at a time. Exit code 1 if a row differs, or if nothing could be compared.`;

// --- From questions to answers ---

/** A question whose answer differs, with the chain's value. */
type Difference = Question & { theirs: string };

class UnansweredError extends Error {}

/** The result of a request to the first URL that answers; "reverted" if the call fails. Tries each URL three times. */
async function request(
  urls: readonly string[],
  method: string,
  params: readonly unknown[],
): Promise<unknown> {
  for (let attempt = 0; attempt < 3 * urls.length; attempt++) {
    const url = urls[attempt % urls.length] ?? "";
    const reply = await requestRpc(url, { method, params }).catch(() => undefined);
    if (reply?.result !== undefined) return reply.result;
    if (reply?.error?.code === 3 || /revert|invalid opcode/i.test(String(reply?.error?.message ?? "")))
      return "reverted";
    await wait(500 * 2 ** Math.floor(attempt / urls.length));
  }
  throw new UnansweredError();
}

/** A value as text: addresses and bytes in lower case, several separated by commas. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return value.map(shown).join(", ");
  return typeof value === "string" && /^0x[0-9a-fA-F]*$/.test(value) ? value.toLowerCase() : String(value);
}

async function answerOf(
  { to, field, args, asOurs }: Question,
  urls: readonly string[],
  head: { number: number; timestamp: number },
) {
  const call = { abi: reads, functionName: field, args } as Parameters<typeof encodeFunctionData>[0];
  const result = await request(urls, "eth_call", [
    { to, data: encodeFunctionData(call) },
    toHex(head.number),
  ]);
  const isEmpty = result === "reverted" || result === "0x";
  const data = result as Hex;
  const given = isEmpty ? "reverted" : shown(decodeFunctionResult({ abi: reads, functionName: field, data }));
  return { isEmpty, theirs: asOurs === undefined ? given : asOurs(given, head.timestamp) };
}

const atOnce = 5;

/** Asks the chains, five requests at a time; `differences` has what differs. */
export async function compare(
  questions: readonly Question[],
  { config, heads, progress }: { config: Config; heads: Heads; progress: (done: number) => void },
) {
  const result = { compared: 0, unanswered: 0, reverted: 0, differences: [] as Difference[] };
  const urlsOf = (chainId: number) => config.chains.find(({ id }) => id === chainId)?.rpc.http ?? [];
  const queue = questions.entries();
  const work = async () => {
    for (const [place, question] of queue) {
      const head = heads.get(question.chainId);
      const answer =
        head && (await answerOf(question, urlsOf(question.chainId), head).catch((error: Error) => error));
      if (answer instanceof UnansweredError) result.unanswered += 1;
      else if (answer instanceof Error) throw answer;
      else if (answer !== undefined) {
        const { theirs, isEmpty } = answer;
        if (isEmpty) result.reverted += 1;
        if (theirs !== undefined) result.compared += 1;
        if (theirs !== undefined && theirs !== question.ours)
          result.differences.push({ ...question, theirs });
      }
      progress(place + 1);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return result;
}

/** The newest event on the chain that sets the value; undefined if the node does not search so many blocks. */
async function eventOf(
  { to, field, topics, chainId }: Difference,
  { config, heads }: { config: Config; heads: Heads },
) {
  const urls = config.chains.find(({ id }) => id === chainId)?.rpc.http ?? [];
  const range = { address: to, fromBlock: "0x0", toBlock: toHex(heads.get(chainId)?.number ?? 0) };
  const selectors = events[field].map((event) => toEventSelector(`event ${event}`));
  const logs = await request(urls, "eth_getLogs", [{ ...range, topics: [selectors, ...topics] }]).catch(
    () => [],
  );
  const last = Array.isArray(logs)
    ? (logs.at(-1) as { blockNumber: string; transactionHash: string } | undefined)
    : undefined;
  return last && `block ${Number(last.blockNumber)}, transaction ${last.transactionHash}`;
}

type Missing = Awaited<ReturnType<typeof missingRows>>;
type Compared = Awaited<ReturnType<typeof compare>>;

/** Whether hardly any contract answered: no such chain has names. */
const callsNothing = ({ reverted, unanswered }: Compared, asked: number) =>
  reverted > 0.9 * (asked - unanswered);

/** What was found as text, and whether nothing speaks against the index. */
export async function report(
  questions: readonly Question[],
  { found, missing }: { found: Compared; missing: Missing },
  tools: { config: Config; heads: Heads },
) {
  const lines: string[] = [];
  const isBlind = callsNothing(found, questions.length);
  if (isBlind)
    lines.push(
      `${found.reverted} of ${questions.length} calls reverted: this node executes no calls, or lacks the state of these blocks. Nothing was compared; try another RPC URL.`,
    );
  for (const difference of isBlind ? [] : found.differences) {
    const { chainId, row, field, ours, theirs, args } = difference;
    const event = await eventOf(difference, tools);
    const names = [...new Set(events[field].map((one) => one.split("(")[0]))].join(" or ");
    lines.push(
      `${row}: ${field}${field === "text" ? ` ${String(args[1])}` : ""} is ${ours || '""'} in the index, ${theirs || '""'} on ${chainName(chainId)}`,
      `  from ${names} of ${difference.to}${event ? `: ${event}` : ""}`,
    );
  }
  lines.push(...missing.missing);
  const heads = [...tools.heads].map(([id, { number }]) => `block ${number} of ${chainName(id)}`).join(", ");
  if (found.unanswered > 0)
    lines.push(`${found.unanswered} values could not be compared: the nodes do not answer.`);
  const compared = isBlind ? 0 : found.compared;
  const wrong = isBlind ? 0 : found.differences.length;
  lines.push(
    `Compared ${compared} of ${questions.length} values at ${heads}, and looked up ${missing.looked} events of the RPC cache.`,
  );
  const lacking =
    missing.missing.length > 0
      ? [`${counted(missing.missing.length, "row")} of ${counted(missing.looked, "event")} missing.`]
      : [];
  const differing = wrong > 0 ? [`${wrong} of ${compared} values differ.`] : [];
  const isSound = lacking.length + differing.length === 0;
  if (!isSound)
    lines.push([...differing, ...lacking, seeOperations("When the index differs from the chain")].join(" "));
  else if (compared > 0)
    lines.push(
      `0 of ${compared} wrong: at most ${mostWrong(compared)} % of them are wrong, at 95 % confidence.`,
    );
  return { text: lines.map(escapeControls).join("\n"), isSound: isSound && compared > 0 };
}

// --- Command ---

/** What the arguments ask for. Throws a PreflightError that lists every fault of them. */
export function parseVerify(args: readonly string[]): Asked {
  const names: string[] = [];
  const others: string[] = [];
  for (let place = 0; place < args.length; place++) {
    const argument = args[place] ?? "";
    if (argument === "--name") names.push(args[++place] ?? "");
    else if (argument.startsWith("--name=")) names.push(argument.slice("--name=".length));
    else others.push(argument);
  }
  if (names.some((name) => name === "" || name.startsWith("--")))
    throw new PreflightError(`--name needs a name.\n\n${usage}`);
  const number = parseNumbers(others, { allowed: ["samples", "block", "seed"], required: [], usage });
  const seed = number("seed") ?? Date.now() % 1_000_000;
  return { samples: number("samples") ?? 200, seed, names, block: number("block") };
}

async function main(args: string[]): Promise<string> {
  if (args.includes("--help")) return usage;
  const asked = parseVerify(args);
  const envFile = join(process.cwd(), ".env.local");
  if (existsSync(envFile)) process.loadEnvFile(envFile);
  const config = readConfig();
  if (config.databaseUrl === undefined && existsSync(config.pgliteDirectory))
    holdEmbeddedDatabase(config.pgliteDirectory);
  const database = await openDatabase(config);
  if (database === undefined) throw new PreflightError(`There is no database in ${config.pgliteDirectory}.`);
  const read = readIndex(database.run, config, asked).finally(() => database.close());
  const { questions, heads, missing } = await read;
  console.error(`Comparing ${questions.length} values (seed ${asked.seed}).`);
  const step = Math.max(1, Math.ceil(questions.length / 10));
  const progress = (done: number) => done % step === 0 && console.error(`${done} of ${questions.length}`);
  const found = await compare(questions, { config, heads, progress });
  const { text, isSound } = await report(questions, { found, missing }, { config, heads });
  if (!isSound) process.exitCode = 1;
  return text;
}

/** The questions about one moment of the index, and the block of each chain then. */
export async function readIndex(run: Statement, config: Config, asked: Asked) {
  const schema = quoted(config.databaseSchema);
  if (asked.block !== undefined && config.chains.length > 1)
    throw new PreflightError("--block is for an index of one chain.");
  if (!(await hasTable(run, `${schema}.domain`)))
    throw new PreflightError(`Schema ${schema} has no index of names.`);
  await run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  await run(`SET LOCAL search_path TO ${schema}`);
  const heads = new Map<number, { number: number; timestamp: number }>();
  for (const { id, rpc } of config.chains) {
    const [row] = (await run(`SELECT ${headSql(id)} AS head`)).rows;
    const head = parseHead((row?.["head"] ?? null) as string | null);
    const number = asked.block ?? head?.number;
    if (number === undefined || head === undefined) continue;
    const block = (await request(rpc.http, "eth_getBlockByNumber", [toHex(number), false])) as {
      timestamp: Hex;
    } | null;
    if (block === null) throw new PreflightError(`The node of chain ${id} has no block ${number} yet.`);
    heads.set(id, { number, timestamp: Number(block.timestamp) });
  }
  const questions = await questionsOf(run, config, asked);
  const missing = await missingRows(run, { config, heads, asked });
  await run("COMMIT");
  return { heads, questions, missing };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.log(await main(process.argv.slice(2)));
  } catch (error) {
    const isExpected = error instanceof ConfigurationError || error instanceof PreflightError;
    const away = error instanceof UnansweredError ? "No node answers." : "The database does not respond.";
    const isAway = error instanceof UnansweredError || isDatabaseAway(error);
    const text = isAway ? `${away} ${seeOperations("While something is away")}` : error;
    console.error(isExpected ? (error as Error).message : text);
    process.exitCode = 1;
  }
}
