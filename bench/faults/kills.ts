import { setTimeout as sleep } from "node:timers/promises";
import { createRandom } from "../../devnet/random.ts";
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

type Moment = "backfill" | "index creation" | "live";
const moments: readonly Moment[] = ["backfill", "backfill", "index creation", "live", "live", "live"];

/** Kills indexes at random moments, six times each, and compares what they end with. Returns how many were not as expected. */
export async function killAndCompare(kills: number, place: Place, expected: Rows): Promise<number> {
  const random = createRandom(11);
  let failures = 0;
  console.log("| Index | Killed in | Entities |\n|---|---|---|");
  for (let index = 1; index <= Math.ceil(kills / moments.length); index++) {
    const node = await startRecordedNode(lastBackfilled);
    const subject = await createSubject(place, `kills_${index}`);
    const done: string[] = [];
    try {
      for (const moment of moments) {
        node.faults.set({ delayMs: moment === "backfill" ? 8 : 0 });
        subject.start(node.url);
        await untilMoment(subject, moment, random.fraction());
        const advance = setInterval(() => {
          if (moment === "live") node.chain.setHead(Math.min(lastBlock - 10, node.chain.head() + 1));
        }, 50);
        if (moment === "live") await sleep(random.below(1_500));
        done.push(`${moment} at block ${(await subject.block().catch(() => undefined)) ?? "-"}`);
        await subject.kill();
        clearInterval(advance);
      }
      node.chain.setHead(lastBlock);
      subject.start(node.url);
      const isThere = await subject.reaches(lastBlock, 120_000);
      const differences = isThere ? await subject.differences(expected) : ["not up"];
      if (differences.length > 0) failures += 1;
      console.log(
        `| ${index} | ${done.join(", ")} | ${differences.length === 0 ? "equal" : differences.slice(0, 3).join("; ")} |`,
      );
    } finally {
      await subject.close();
      await node.close();
    }
  }
  return failures;
}

/** Waits for a moment within a phase; `place` from 0 to 1 says where in it. */
async function untilMoment(subject: Subject, moment: Moment, index: number): Promise<void> {
  if (moment === "live") return void (await subject.reaches(0, 60_000));
  const phase = moment === "backfill" ? "Started" : "Completed";
  await untilLine(subject, `${phase} backfill indexing`, 60_000);
  await sleep(index * (moment === "backfill" ? 3_000 : 300));
}
