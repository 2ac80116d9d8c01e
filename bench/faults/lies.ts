import { setTimeout as sleep } from "node:timers/promises";
import { startNode } from "../../devnet/node.ts";
import { type Lying, lies, startLiar } from "../../devnet/rpc/liar.ts";
import { recordingOf } from "../../test/support/recordings.ts";
import {
  createSubject,
  lastBackfilled,
  lastBlock,
  type Place,
  type Rows,
  type Subject,
  startRecordedNode,
  untilLine,
} from "./subject.ts";

/** A lie, and by how many URLs it is told beside how many honest ones. */
export type Case = {
  name: string;
  lying: Lying | "wrong chain" | "wrong chain for good";
  liars: number;
  honest: number;
};

const silent: Lying = { kinds: [], rate: 0, of: "both" };
const ofLogs = (kind: Lying["kinds"][number]): Lying => ({ kinds: [kind], rate: 0.3, of: "both", limit: 9 });
type Faults = NonNullable<Lying["faults"]>;
// Shares of the answers.
const faults = { hashChange: 0.03, nullBlock: 0.1, malformed: 0.1, cutBody: 0.1, stall: 0.003, tooMany: 0.1 };
const ofAll = (kind: string, rate: number): Lying => ({
  ...silent,
  faults: { kinds: [kind as Faults["kinds"][number]], rate },
});
const by = (lying: Case["lying"], name: string, ...sets: string[]): Case[] =>
  sets.map((set) => {
    const [liars = 0, honest = 0] = set.split("+").map(Number);
    return { name, lying, liars, honest };
  });

/** All lies, told by a single URL and by one of two. */
export const cases: readonly Case[] = [
  ...Object.keys(lies).flatMap((kind) => by(ofLogs(kind as keyof typeof lies), kind, "1+0", "1+1")),
  ...by(ofAll("flap", 0.5), "flap", "1+0", "2+0"),
  ...Object.entries(faults).flatMap(([kind, rate]) => by(ofAll(kind, rate), kind, "1+0")),
  ...by("wrong chain", "wrong chain", "1+0", "1+1"),
  ...by("wrong chain for good", "wrong chain for good", "1+0", "1+1"),
];

/** What came of a lie, in the backfill and live. */
export type Outcome = { backfill: string; live: string; isRight: boolean };

type Setting = Place & { expected: { backfilled: Rows; atEnd: Rows } };

const timeoutMs = 90_000;

/**
 * Runs a case with a seed: first the backfill, then live on an index that is right. With the first seed an index that
 * says that it is wrong is also repaired as it says.
 */
export async function runCase(one: Case, seed: number, { expected, ...place }: Setting): Promise<Outcome> {
  const { lying } = one;
  const node = await startRecordedNode(lastBackfilled);
  const stranger = await startNode({ recording: recordingOf("base") });
  const liars = await Promise.all(
    Array.from({ length: one.liars }, () => startLiar({ target: node.url, seed, lying: silent })),
  );
  const urls = [...liars.map(({ url }) => url), ...Array.from({ length: one.honest }, () => node.url)].join();
  const name = `${one.name}_${one.liars}_${one.honest}_${seed}`.replace(/\W/g, "_").toLowerCase();
  const subject = await createSubject(place, name);
  const hush = () => {
    for (const liar of liars) {
      liar.lie(silent);
      liar.pointAt(node.url);
    }
  };
  const tell = () => {
    for (const liar of liars) {
      if (typeof lying === "string") liar.pointAt(stranger.url);
      else liar.lie(lying);
    }
    return lying === "wrong chain" ? setTimeout(hush, 5_000) : undefined;
  };
  const outcome = (block: number, rows: Rows) =>
    checkOutcome(subject, { block, expected: rows, honest: node.url, hush, isRepaired: seed === 1 });
  try {
    if (typeof lying !== "string") tell();
    subject.start(urls);
    if (typeof lying === "string") {
      await untilLine(subject, "Started fetching backfill", 30_000);
      tell();
    }
    const backfill = await outcome(lastBackfilled, expected.backfilled);
    hush();
    if (backfill.text !== "equal") {
      if (seed > 1 || !backfill.isRight)
        return { backfill: backfill.text, live: "-", isRight: backfill.isRight };
      await subject.stop();
      subject.start(urls);
      await subject.reaches(lastBackfilled, timeoutMs);
    }
    const lull = tell();
    for (let head = lastBackfilled; head <= lastBlock; head += 3) {
      node.chain.setHead(head);
      await sleep(120);
    }
    const live = await outcome(lastBlock, expected.atEnd);
    clearTimeout(lull);
    return { backfill: backfill.text, live: live.text, isRight: backfill.isRight && live.isRight };
  } finally {
    await subject.close();
    await Promise.all([...liars, node, stranger].map((opened) => opened.close()));
  }
}

type Result = { text: string; isRight: boolean };

const said =
  /Rejected (?:a response|logs)[^"\n]*|All JSON-RPC providers are inactive|serves chain[^"\n]*|now serves another chain/;
const command = /cache -- (purge --chain \d+ --from \d+(?: --to \d+)?)/g;

/** How long what is unverified may be asked for again, in half seconds. */
const turnsOfDoubt = 20;

type Wanted = { block: number; expected: Rows; honest: string; hush: () => void; isRepaired: boolean };

/**
 * Whether the index is right; else what it says, and if it is to be repaired whether it is right after the command it
 * names.
 */
async function checkOutcome(subject: Subject, wanted: Wanted): Promise<Result> {
  const { block, expected, hush, isRepaired } = wanted;
  const repaired = async (what: string, text: string) => {
    if (!isRepaired) return { text: what, isRight: true };
    const { text: then, isRight } = await repair(subject, { ...wanted, said: text });
    return { text: `${what}; ${then}`, isRight };
  };
  if (await subject.reaches(block, timeoutMs)) {
    // A height that goes back and forth would be compared at any of them.
    hush();
    await subject.settles();
    await subject.reaches(block, timeoutMs);
    for (let i = 0; i < turnsOfDoubt && (await subject.fault()) !== undefined; i++) await sleep(500);
    const wrong = await subject.differences(expected);
    const fault = await subject.fault();
    if (fault === undefined && wrong.length === 0) return { text: "equal", isRight: true };
    if (fault === undefined)
      return { text: `SILENT, ${wrong.length} wrong (${listTables(wrong)})`, isRight: false };
    return repaired(`unverified (${wrong.length})`, fault);
  }
  const lines = subject.lines().join("\n");
  const why = said.exec(lines)?.[0];
  const how = subject.running().ending() === undefined ? "waits" : "ended";
  if (why === undefined) return { text: `${how}: NO MESSAGE`, isRight: false };
  return repaired(`${how}: ${why.slice(0, 90)}`, lines);
}

const listTables = (rows: readonly string[]) =>
  [...new Set(rows.map((row) => row.split(" ")[0]))].slice(0, 3).join();

/** Does what the messages ask for: purges what they name, and starts with an honest URL. */
async function repair(
  subject: Subject,
  { block, expected, honest, said: text }: Pick<Wanted, "block" | "expected" | "honest"> & { said: string },
): Promise<Result> {
  await subject.stop();
  // What the start says beside that: unverified blocks are stored.
  subject.start(honest);
  const isUp = await subject.reaches(block, 45_000);
  const refusal = isUp ? "" : subject.lines().join("\n");
  const commands = [
    ...new Set([...`${text}\n${refusal}`.matchAll(command)].map(([, args]) => args as string)),
  ];
  const isPurged = !isUp || commands.length > 0;
  if (isPurged) {
    await subject.stop();
    for (const args of commands) await subject.runCommand(args.split(" "), honest);
    subject.newSchema();
    subject.start(honest);
    if (!(await subject.reaches(block, timeoutMs)))
      return { text: `NOT UP after: ${subject.lines().at(-1)}`, isRight: false };
  }
  const { length } = await subject.differences(expected);
  const how = isPurged ? "after purge" : "with an honest URL";
  return { text: length === 0 ? `equal ${how}` : `WRONG (${length}) ${how}`, isRight: length === 0 };
}
