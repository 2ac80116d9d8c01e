import type { Entities } from "../../devnet/entities.ts";
import { startNode } from "../../devnet/node.ts";
import { type Liar, type Lying, startLiar } from "../../devnet/rpc/liar.ts";
import { recordingOf } from "../../test/support/recordings.ts";
import type { Databases } from "../backfill/databases.ts";
import { createSubject, type Subject, startRecordedNode } from "./subject.ts";

/** A lie, and by how many URLs it is told beside how many honest ones. */
export type Case = {
  name: string;
  lying: Lying | "wrong chain" | "wrong chain for good";
  liars: number;
  honest: number;
};

const ofLogs = (kind: Lying["kinds"][number], of: Lying["of"] = "both"): Lying => ({
  kinds: [kind],
  rate: 0.3,
  of,
  limit: 9,
});
type Faults = NonNullable<Lying["faults"]>;
const ofAll = (kind: Faults["kinds"][number], rate: number): Lying => ({
  kinds: [],
  rate: 0,
  of: "both",
  faults: { kinds: [kind], rate },
});
const silent: Lying = { kinds: [], rate: 0, of: "both" };

const logLies = [
  "drop",
  "dropBlock",
  "truncate",
  "empty",
  "duplicate",
  "disorder",
  "foreignHash",
  "outside",
] as const;
const faults: [Faults["kinds"][number], number][] = [
  ["hashChange", 0.03],
  ["nullBlock", 0.1],
  ["malformed", 0.1],
  ["cutBody", 0.1],
  ["stall", 0.003],
  ["tooMany", 0.1],
];

/** All lies, told by a single URL and by one of two. */
export const cases: readonly Case[] = [
  ...logLies.flatMap((kind) => [
    { name: kind, lying: ofLogs(kind), liars: 1, honest: 0 },
    { name: kind, lying: ofLogs(kind), liars: 1, honest: 1 },
  ]),
  { name: "flap", lying: ofAll("flap", 0.5), liars: 1, honest: 0 },
  { name: "flap", lying: ofAll("flap", 0.5), liars: 2, honest: 0 },
  ...faults.map(([kind, rate]) => ({ name: kind, lying: ofAll(kind, rate), liars: 1, honest: 0 })),
  ...(["wrong chain", "wrong chain for good"] as const).flatMap((lying) => [
    { name: lying, lying, liars: 1, honest: 0 },
    { name: lying, lying, liars: 1, honest: 1 },
  ]),
];

/** What came of a lie, in the backfill and live. */
export type Outcome = { backfill: string; live: string; told: number; checks: string; isRight: boolean };

type Setting = {
  databases: Databases;
  inputs: string;
  expected: { at1600: Entities; atEnd: Entities };
};

const lastBackfilled = 1_600;
const last = 1_666;
const patienceMs = 90_000;

/** Runs a case with a seed: first the backfill, then live on an index that is right. */
export async function runCase(one: Case, seed: number, setting: Setting): Promise<Outcome> {
  const { databases, inputs, expected } = setting;
  const node = await startRecordedNode(lastBackfilled);
  const stranger = await startNode({ recording: recordingOf("base") });
  const liars = await Promise.all(
    Array.from({ length: one.liars }, (_, place) =>
      startLiar({ target: node.url, seed: seed * 100 + place + 1, lying: silent }),
    ),
  );
  const urls = [...liars.map(({ url }) => url), ...Array.from({ length: one.honest }, () => node.url)].join();
  const name = `${one.name}_${one.liars}_${one.honest}_${seed}`.replace(/\W/g, "_").toLowerCase();
  const subject = await createSubject(databases, inputs, name);
  const isStrange = typeof one.lying === "string";
  const tell = () => {
    for (const liar of liars) {
      if (typeof one.lying === "string") liar.pointAt(stranger.url);
      else liar.lie(one.lying);
    }
    return one.lying === "wrong chain" ? setTimeout(hush, 5_000) : undefined;
  };
  const hush = () => {
    for (const liar of liars) {
      liar.lie(silent);
      liar.pointAt(node.url);
    }
  };
  try {
    if (!isStrange) tell();
    subject.start(urls);
    if (isStrange) {
      await untilBackfill(subject);
      tell();
    }
    const backfill = await outcomeOf(subject, {
      block: lastBackfilled,
      expected: expected.at1600,
      honest: node.url,
      hush,
    });
    hush();
    const early = await subject.checks().catch(() => "");
    if (backfill.isRepaired) {
      await subject.stop();
      subject.start(urls);
      await subject.reaches(lastBackfilled, patienceMs);
    }
    const lull = tell();
    for (let head = lastBackfilled; head <= last; head += 3) {
      node.chain.setHead(head);
      await new Promise((resolve) => setTimeout(resolve, 120));
    }
    node.chain.setHead(last);
    const live = await outcomeOf(subject, { block: last, expected: expected.atEnd, honest: node.url, hush });
    clearTimeout(lull);
    const checks = [early, await subject.checks().catch(() => "")].filter(Boolean).join(" / ");
    return {
      backfill: backfill.text,
      live: live.text,
      told: liars.reduce((sum, liar: Liar) => sum + liar.told(), 0),
      checks,
      isRight: backfill.isRight && live.isRight,
    };
  } finally {
    await subject.stop();
    await Promise.all([...liars, node, stranger].map((opened) => opened.close()));
  }
}

async function untilBackfill(subject: Subject) {
  const until = Date.now() + 30_000;
  while (Date.now() < until && !subject.lines().some((line) => line.includes("Started fetching backfill"))) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

type Result = { text: string; isRight: boolean; isRepaired: boolean };

const said =
  /Refused (?:an answer|logs)[^"\n]*|All JSON-RPC providers are inactive|answers for chain[^"\n]*|serves another chain now/;
const command = /cache -- (purge --chain \d+ --from \d+(?: --to \d+)?)/g;

/** Whether the index is right; else what it says, and whether it is right after the command it names. */
async function outcomeOf(
  subject: Subject,
  { block, expected, honest, hush }: { block: number; expected: Entities; honest: string; hush: () => void },
): Promise<Result> {
  const isThere = await subject.reaches(block, patienceMs);
  if (isThere) {
    // A height that goes back and forth would be compared at any of them.
    hush();
    await subject.settles();
    await subject.reaches(block, patienceMs);
    // What is in doubt is being asked for again.
    for (let i = 0; i < 20 && (await subject.fault()) !== undefined; i++)
      await new Promise((resolve) => setTimeout(resolve, 500));
    const differences = await subject.differences(expected);
    const fault = await subject.fault();
    if (differences.length === 0 && fault === undefined)
      return { text: "equal", isRight: true, isRepaired: false };
    if (fault === undefined)
      return {
        text: `WRONG (${differences.slice(0, 3).join("; ").slice(0, 300)}), unseen`,
        isRight: false,
        isRepaired: false,
      };
    const repaired = await repair(subject, { block, expected, honest, said: fault });
    const what = differences.length === 0 ? "equal" : `${differences.length} wrong`;
    return { text: `${what}, says so; ${repaired.text}`, isRight: repaired.isRight, isRepaired: true };
  }
  const lines = subject.lines().join("\n");
  const why = said.exec(lines)?.[0];
  const how = subject.running().ending() === undefined ? "waits" : "ended";
  const repaired = await repair(subject, { block, expected, honest, said: lines });
  return {
    text: `${how}: ${why?.slice(0, 90) ?? "NO MESSAGE"}; ${repaired.text}`,
    isRight: repaired.isRight && why !== undefined,
    isRepaired: true,
  };
}

/** Does what the messages ask for: purges what they name, and starts with an honest URL. */
async function repair(
  subject: Subject,
  {
    block,
    expected,
    honest,
    said: text,
  }: { block: number; expected: Entities; honest: string; said: string },
): Promise<{ text: string; isRight: boolean }> {
  await subject.stop();
  // What the start says beside that: blocks in doubt are stored.
  subject.start(honest);
  const isUp = await subject.reaches(block, 45_000);
  const refusal = isUp ? "" : subject.lines().join("\n");
  const commands = [
    ...new Set([...`${text}\n${refusal}`.matchAll(command)].map(([, args]) => args as string)),
  ];
  if (isUp && commands.length === 0) {
    const left = await subject.differences(expected);
    return {
      text: left.length === 0 ? "equal with an honest URL" : `WRONG (${left.length}) after`,
      isRight: left.length === 0,
    };
  }
  await subject.stop();
  for (const args of commands) await subject.runCommand(args.split(" "), honest);
  subject.newSchema();
  subject.start(honest);
  if (!(await subject.reaches(block, patienceMs)))
    return { text: `NOT UP after: ${subject.lines().at(-1)}`, isRight: false };
  const left = await subject.differences(expected);
  return {
    text: left.length === 0 ? "equal after purge" : `WRONG (${left.length}) after purge`,
    isRight: left.length === 0,
  };
}
