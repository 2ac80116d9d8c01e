import { createPublicClient, fallback, http } from "viem";
import { chainName } from "../src/config/chains.ts";
import type { Config } from "../src/config/environment.ts";
import { countNoun, escapeControls, seeOperations } from "../src/log/json-log.ts";
import type { BlockRef } from "../src/ponder/checkpoints.ts";
import { examineUrls } from "./checks/nodes.ts";
import { createProgram, createTenthsLog, loadConfig, parseWhole, print, runProgram } from "./command.ts";
import { beginSnapshot, readHeads, withDatabase } from "./database.ts";
import { PreflightError } from "./refusal.ts";
import { computeMaxWrongShare, createSeed } from "./samples.ts";
import { findMissingRows } from "./verify/events.ts";
import { type Proven, prove } from "./verify/proofs.ts";
import { type Asked, type Question, readQuestions, reads } from "./verify/questions.ts";

const verify = createProgram(
  "verify",
  `Compares rows of the index with what the contracts return at the last indexed block of each chain: owner, resolver and ttl in the registries, expiry and owner in the registrars, owner, fuses and expiry in the name wrappers, and addr, text and contenthash of the public resolvers; and events of the RPC cache behind random blocks, whose rows must exist. Five requests run at a time. With --proofs the values of contracts whose storage layout is known, and entries of ENSv2, are compared with proofs by the header of that block, so that the nodes need not be trusted. Exit code 1 if a row differs, if no node proves one of them, or if nothing could be compared.`,
)
  .option("--samples <n>", "random rows of each kind, and random blocks", parseWhole, 200)
  .option("--name <name...>", "additional names to compare")
  .option("--seed <n>", "repeats an earlier sample of rows", parseWhole)
  .option("--proofs", "compare with proofs of the contracts' storage, not with what they return", false)
  .action(({ samples, seed = createSeed(), name: names = [], proofs }) =>
    print(verifyIndex({ samples, seed, names, proofs })),
  );

/** Compares a snapshot of the index with the chains, and returns the report. */
async function verifyIndex(asked: Asked): Promise<string> {
  const config = loadConfig();
  const [fault] = (await examineUrls(config)).filter(({ state }) => state === "away" || state === "fail");
  if (fault !== undefined)
    throw new PreflightError(`${fault.found}. ${seeOperations("When a dependency is unavailable")}`);
  const { heads, questions, events } = await withDatabase(config, async (run) => {
    await beginSnapshot(run, config);
    const heads = await readHeads(run, config);
    const questions = await readQuestions(run, config, asked);
    return { heads, questions, events: await findMissingRows(run, { config, heads, asked }) };
  });
  console.error(`Comparing ${questions.length} values (seed ${asked.seed}).`);
  const progress = createTenthsLog(questions.length);
  const tools = { config, heads, progress };
  const found = await (asked.proofs ? prove(questions, tools) : compare(questions, tools));
  const { text, isSound } = report(questions, { heads, found, events });
  if (!isSound) process.exitCode = 1;
  return text;
}

type Heads = ReadonlyMap<number, BlockRef>;

/** Client of a chain, which goes on to the next URL after three attempts. */
const openClient = ({ chains }: Config, chainId: number) => {
  const urls = chains.find(({ id }) => id === chainId)?.rpc.http ?? [];
  const transports = urls.map((url) => http(url, { retryCount: 2, retryDelay: 500 }));
  return createPublicClient({ transport: fallback(transports, { retryCount: 0 }) });
};

/** A value as text: addresses and bytes in lower case, lists separated by commas. */
function formatValue(value: unknown): string {
  if (Array.isArray(value)) return value.map(formatValue).join(", ");
  return typeof value === "string" && /^0x[0-9a-fA-F]*$/.test(value) ? value.toLowerCase() : String(value);
}

type Client = ReturnType<typeof openClient>;

/** The chain's value as text; "reverted" if the call reverts or returns no data, undefined if no node answers. */
function readAnswer(
  { to, field, args }: Question,
  client: Client,
  block: number,
): Promise<string | undefined> {
  const call = { abi: reads, address: to, functionName: field, args, blockNumber: BigInt(block) };
  return client
    .readContract(call as Parameters<Client["readContract"]>[0])
    .then(formatValue, ({ message }: Error) =>
      /revert|returned no data|invalid opcode/i.test(message) ? "reverted" : undefined,
    );
}

const atOnce = 5;

/** Asks the chains, five requests at a time, and counts and collects what differs. */
export async function compare(
  questions: readonly Question[],
  { config, heads, progress }: { config: Config; heads: Heads; progress: (done: number) => void },
) {
  const result = { compared: 0, unanswered: 0, reverted: 0, differences: [] as Proven["differences"] };
  const clients = new Map(config.chains.map(({ id }) => [id, openClient(config, id)]));
  const queue = questions.entries();
  const work = async () => {
    for (const [index, question] of queue) {
      const [head, client] = [heads.get(question.chainId), clients.get(question.chainId)];
      if (head === undefined || client === undefined) continue;
      const given = await readAnswer(question, client, head.number);
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

type Found = {
  heads: Heads;
  found: Awaited<ReturnType<typeof compare>> & Partial<Pick<Proven, "unproven" | "said">>;
  events: Awaited<ReturnType<typeof findMissingRows>>;
};

/** Report of what was found. It is sound if something was compared, and nothing differs or is missing. */
export function report(questions: readonly Question[], { heads, found, events: { missing, looked } }: Found) {
  const { unproven = 0, said = [] } = found;
  // Hardly any contract answers: no chain with names is like that.
  const isBlind = found.reverted > 0.9 * (questions.length - found.unanswered);
  const compared = isBlind ? 0 : found.compared;
  const differences = isBlind ? [] : found.differences;
  const blocks = [...heads].map(([id, { number }]) => `block ${number} of ${chainName(id)}`).join(", ");
  const faults = [
    ...(differences.length > 0 ? [`${differences.length} of ${compared} values differ.`] : []),
    ...(unproven > 0 ? [`${countNoun(unproven, "value")} could not be proven.`] : []),
    ...(missing.length > 0
      ? [`${countNoun(missing.length, "row")} of ${countNoun(looked, "event")} missing.`]
      : []),
  ];
  const lines = [
    isBlind &&
      `${found.reverted} of ${questions.length} calls reverted: this node executes no calls, or lacks the state of these blocks. Nothing was compared; try another RPC URL.`,
    ...differences.map(
      ({ chainId, to, row, field, ours, theirs, args }) =>
        `${row}: ${field}${field === "text" ? ` ${String(args[1])}` : ""} is ${ours || '""'} in the index, ${theirs || '""'} on ${chainName(chainId)} (${to})`,
    ),
    ...missing,
    ...said,
    found.unanswered > 0 && `${found.unanswered} values could not be compared: the nodes do not answer.`,
    `Compared ${compared} of ${questions.length} values at ${blocks}, and looked up ${looked} events of the RPC cache.`,
    faults.length > 0
      ? [...faults, seeOperations("When the index differs from the chain")].join(" ")
      : compared > 0 &&
        `0 of ${compared} wrong: at most ${computeMaxWrongShare(compared)} % of them are wrong, at 95 % confidence.`,
  ];
  const text = lines
    .filter((line) => line !== false)
    .map(escapeControls)
    .join("\n");
  return { text, isSound: faults.length === 0 && compared > 0 };
}

await runProgram(verify, import.meta.url);
