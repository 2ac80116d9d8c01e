import { createPublicClient, fallback, http, toEventSelector, toHex } from "viem";
import { chainName } from "../src/config/chains.ts";
import type { Config } from "../src/config/environment.ts";
import { counted, escapeControls, seeOperations } from "../src/log/json-log.ts";
import type { Statement } from "../src/ponder/sql-client.ts";
import { loadConfig, program, runProgram, whole } from "./command.ts";
import { beginSnapshot, PreflightError, readHeads, withDatabase } from "./database.ts";
import { mostWrong, newSeed } from "./samples.ts";
import { missingRows } from "./verify/events.ts";
import { type Asked, events, type Heads, type Question, questionsOf, reads } from "./verify/questions.ts";

const verify = program(
  "verify",
  `Compares rows of the index with what the contracts say, at the last indexed block of each chain: owner, resolver and ttl in the registries, expiry and owner in the registrars, owner, fuses and expiry in the name wrappers, and addr, text and contenthash of the public resolvers; and events of the RPC cache behind random blocks, whose rows have to be there. Five requests run at a time. Exit code 1 if a row differs, or if nothing could be compared.`,
)
  .option("--samples <n>", "random rows of each kind, and random blocks", whole, 200)
  .option("--name <name...>", "names to compare besides")
  .option(
    "--block <n>",
    "compares the rows that have not changed since that block of the only chain; the node needs its state",
    whole,
  )
  .option("--seed <n>", "repeats a choice of rows", whole)
  .action(async ({ samples, seed = newSeed(), name: names = [], block }) => {
    const config = loadConfig();
    const asked = { samples, seed, names, block };
    const { questions, heads, missing } = await withDatabase(config, (run) => readIndex(run, config, asked));
    console.error(`Comparing ${questions.length} values (seed ${seed}).`);
    const step = Math.max(1, Math.ceil(questions.length / 10));
    const progress = (done: number) => done % step === 0 && console.error(`${done} of ${questions.length}`);
    const found = await compare(questions, { config, heads, progress });
    const { text, isSound } = await report(questions, { found, missing }, { config, heads });
    if (!isSound) process.exitCode = 1;
    console.log(text);
  });

// --- From questions to answers ---

/** A question whose answer differs, with the chain's value. */
type Difference = Question & { theirs: string };

/** A client of a chain, which asks the next URL after three tries of one. */
const clientOf = ({ chains }: Config, chainId: number) => {
  const urls = chains.find(({ id }) => id === chainId)?.rpc.http ?? [];
  const transports = urls.map((url) => http(url, { retryCount: 2, retryDelay: 500 }));
  return createPublicClient({ transport: fallback(transports, { retryCount: 0 }) });
};

/** A value as text: addresses and bytes in lower case, several separated by commas. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return value.map(shown).join(", ");
  return typeof value === "string" && /^0x[0-9a-fA-F]*$/.test(value) ? value.toLowerCase() : String(value);
}

type Client = ReturnType<typeof clientOf>;

/** The chain's value as text; "reverted" if the contract has none, undefined if no node answers. */
function answerOf({ to, field, args }: Question, client: Client, block: number): Promise<string | undefined> {
  const call = { abi: reads, address: to, functionName: field, args, blockNumber: BigInt(block) };
  return client
    .readContract(call as Parameters<Client["readContract"]>[0])
    .then(shown, ({ message }: Error) =>
      /revert|returned no data|invalid opcode/i.test(message) ? "reverted" : undefined,
    );
}

const atOnce = 5;

/** Asks the chains, five requests at a time; `differences` has what differs. */
export async function compare(
  questions: readonly Question[],
  { config, heads, progress }: { config: Config; heads: Heads; progress: (done: number) => void },
) {
  const result = { compared: 0, unanswered: 0, reverted: 0, differences: [] as Difference[] };
  const clients = new Map(config.chains.map(({ id }) => [id, clientOf(config, id)]));
  const queue = questions.entries();
  const work = async () => {
    for (const [index, question] of queue) {
      const [head, client] = [heads.get(question.chainId), clients.get(question.chainId)];
      if (head === undefined || client === undefined) continue;
      const given = await answerOf(question, client, head.number);
      const { asOurs = () => given, ours } = question;
      const theirs = given && asOurs(given, head.timestamp);
      if (given === undefined) result.unanswered += 1;
      if (given === "reverted") result.reverted += 1;
      if (theirs !== undefined) result.compared += 1;
      if (theirs !== undefined && theirs !== ours) result.differences.push({ ...question, theirs });
      progress(index + 1);
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
  const range = { address: to, fromBlock: "0x0", toBlock: toHex(heads.get(chainId)?.number ?? 0) } as const;
  const selectors = events[field].map((event) => toEventSelector(`event ${event}`));
  const params = [{ ...range, topics: [selectors, ...topics] }] as const;
  const logs = await clientOf(config, chainId)
    .request({ method: "eth_getLogs", params: params as never })
    .catch(() => []);
  const last = logs.at(-1);
  return last && `block ${Number(last.blockNumber)}, transaction ${last.transactionHash}`;
}

type Found = {
  found: Awaited<ReturnType<typeof compare>>;
  missing: Awaited<ReturnType<typeof missingRows>>;
};

/** What was found as text, and whether nothing speaks against the index. */
export async function report(
  questions: readonly Question[],
  { found, missing: { missing, looked } }: Found,
  tools: { config: Config; heads: Heads },
) {
  const lines: string[] = [];
  // Where hardly any contract answers: no such chain has names.
  const isBlind = found.reverted > 0.9 * (questions.length - found.unanswered);
  const compared = isBlind ? 0 : found.compared;
  const differences = isBlind ? [] : found.differences;
  if (isBlind)
    lines.push(
      `${found.reverted} of ${questions.length} calls reverted: this node executes no calls, or lacks the state of these blocks. Nothing was compared; try another RPC URL.`,
    );
  for (const difference of differences) {
    const { chainId, row, field, ours, theirs, args } = difference;
    const event = await eventOf(difference, tools);
    const names = [...new Set(events[field].map((one) => one.split("(")[0]))].join(" or ");
    lines.push(
      `${row}: ${field}${field === "text" ? ` ${String(args[1])}` : ""} is ${ours || '""'} in the index, ${theirs || '""'} on ${chainName(chainId)}`,
      `  from ${names} of ${difference.to}${event ? `: ${event}` : ""}`,
    );
  }
  lines.push(...missing);
  const heads = [...tools.heads].map(([id, { number }]) => `block ${number} of ${chainName(id)}`).join(", ");
  if (found.unanswered > 0)
    lines.push(`${found.unanswered} values could not be compared: the nodes do not answer.`);
  lines.push(
    `Compared ${compared} of ${questions.length} values at ${heads}, and looked up ${looked} events of the RPC cache.`,
  );
  const faults: string[] = [];
  if (differences.length > 0) faults.push(`${differences.length} of ${compared} values differ.`);
  if (missing.length > 0)
    faults.push(`${counted(missing.length, "row")} of ${counted(looked, "event")} missing.`);
  if (faults.length > 0)
    lines.push([...faults, seeOperations("When the index differs from the chain")].join(" "));
  else if (compared > 0)
    lines.push(
      `0 of ${compared} wrong: at most ${mostWrong(compared)} % of them are wrong, at 95 % confidence.`,
    );
  return { text: lines.map(escapeControls).join("\n"), isSound: faults.length === 0 && compared > 0 };
}

/** The questions about one moment of the index, and the block of each chain then. */
async function readIndex(run: Statement, config: Config, asked: Asked) {
  if (asked.block !== undefined && config.chains.length > 1)
    throw new PreflightError("--block is for an index of one chain.");
  await beginSnapshot(run, config);
  const indexed = await readHeads(run, config);
  const heads = new Map<number, { number: number; timestamp: number }>();
  for (const { id } of config.chains) {
    const number = asked.block ?? indexed.get(id)?.number;
    if (number === undefined || !indexed.has(id)) continue;
    const block = clientOf(config, id).getBlock({ blockNumber: BigInt(number) });
    const { timestamp } = await block.catch(({ name }: Error) => {
      throw new PreflightError(
        name === "BlockNotFoundError"
          ? `The node of chain ${id} has no block ${number} yet.`
          : `No node answers. ${seeOperations("While something is away")}`,
      );
    });
    heads.set(id, { number, timestamp: Number(timestamp) });
  }
  const questions = await questionsOf(run, config, asked);
  const missing = await missingRows(run, { config, heads, asked });
  return { heads, questions, missing };
}

await runProgram(verify, import.meta.url);
