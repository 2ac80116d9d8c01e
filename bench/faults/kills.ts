import { createRandom } from "../../devnet/random.ts";
import { createSubject, type Place, type Subject, startRecordedNode } from "./subject.ts";

const killsOfIndex = 6;
const last = 1_666;
const lastBackfilled = 1_600;

type Moment = "backfill" | "index creation" | "live";
const moments: readonly Moment[] = ["backfill", "backfill", "index creation", "live", "live", "live"];

/** Kills indexes at random moments, six times each, and compares what they end with. Returns how many were not equal. */
export async function killAndCompare(kills: number, place: Place): Promise<number> {
  const random = createRandom(11);
  let failures = 0;
  const expected = await rowsWithoutKill(place);
  console.log("| Index | Killed in | Entities |\n|---|---|---|");
  for (let index = 1; index <= Math.ceil(kills / killsOfIndex); index++) {
    const node = await startRecordedNode(lastBackfilled);
    const subject = await createSubject(place, `kills_${index}`);
    const done: string[] = [];
    try {
      for (const moment of moments) {
        node.faults.set({ delayMs: moment === "backfill" ? 8 : 0 });
        subject.start(node.url);
        await untilMoment(subject, moment, random.fraction());
        const advance = setInterval(() => {
          if (moment === "live") node.chain.setHead(Math.min(last - 10, node.chain.head() + 1));
        }, 50);
        if (moment === "live") await new Promise((resolve) => setTimeout(resolve, random.below(1_500)));
        done.push(`${moment} at block ${(await subject.block().catch(() => undefined)) ?? "-"}`);
        await subject.kill();
        clearInterval(advance);
      }
      node.chain.setHead(last);
      subject.start(node.url);
      const isThere = await subject.reaches(last, 120_000);
      const differences = isThere ? await subject.differences(expected) : ["not up"];
      if (differences.length > 0) failures += 1;
      console.log(
        `| ${index} | ${done.join(", ")} | ${differences.length === 0 ? "equal" : differences.slice(0, 3).join("; ")} |`,
      );
    } finally {
      await subject.stop();
      await node.close();
    }
  }
  return failures;
}

async function rowsWithoutKill(place: Place) {
  const node = await startRecordedNode(last);
  const subject = await createSubject(place, "kills_none");
  try {
    subject.start(node.url);
    if (!(await subject.reaches(last, 120_000))) throw new Error(subject.lines().slice(-20).join("\n"));
    return await subject.rows();
  } finally {
    await subject.stop();
    await node.close();
  }
}

const backfillStarts = "Started backfill indexing";
const backfillEnds = "Completed backfill indexing across all chains";

/** Waits for a moment within a phase; `place` from 0 to 1 says where in it. */
async function untilMoment(subject: Subject, moment: Moment, place: number): Promise<void> {
  if (moment === "live") {
    await subject.reaches(0, 60_000);
    return;
  }
  const line = moment === "backfill" ? backfillStarts : backfillEnds;
  const until = Date.now() + 60_000;
  while (Date.now() < until && !subject.lines().some((one) => one.includes(line))) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await new Promise((resolve) => setTimeout(resolve, place * (moment === "backfill" ? 3_000 : 300)));
}
