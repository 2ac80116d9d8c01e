import type { DevNode } from "../../devnet/node.ts";
import { askSubgraph } from "../load/service.ts";
import { createSubject, type Place, type Subject, startRecordedNode } from "./subject.ts";

const now = () => Math.floor(Date.now() / 1000);

/**
 * Reorganises a chain by 1 to `deepest` blocks while an index follows it, compares the names after each, and in the end all
 * entities with those of an index that only saw the last branch; then by 90 blocks, which must be refused. Returns the failures.
 */
export async function reorganiseAndCompare(deepest: number, place: Place): Promise<number> {
  let failures = 0;
  const node = await startRecordedNode();
  const subject = await createSubject(place, "reorgs");
  const fresh = await createSubject(place, "reorgs_fresh");
  try {
    subject.start(node.url);
    await subject.reaches(node.chain.head(), 120_000);
    const wrong: string[] = [];
    for (let depth = 1; depth <= deepest; depth++) {
      const fault = await faultOfReorg(node, subject, depth);
      if (fault !== undefined) wrong.push(`${depth} (${fault})`);
    }
    fresh.start(node.url);
    await fresh.reaches(node.chain.head(), 120_000);
    const differences = await subject.differences(await fresh.rows());
    console.log(
      `Reorganisations of 1 to ${deepest} blocks: ${wrong.length === 0 ? "all followed" : `wrong at ${wrong.join(", ")}`}; ` +
        `entities at the end: ${differences.length === 0 ? "equal" : differences.slice(0, 3).join("; ")}.`,
    );
    failures += wrong.length + (differences.length === 0 ? 0 : 1);
    failures += await refusesDeepReorg(node, subject);
  } finally {
    await subject.stop();
    await fresh.stop();
    await node.close();
  }
  return failures;
}

/** Why the names of the dropped blocks are not gone, or those of the new ones not there; undefined if all are as they should be. */
async function faultOfReorg(node: DevNode, subject: Subject, depth: number): Promise<string | undefined> {
  const { scenario } = node;
  if (scenario === undefined) throw new Error("The node has no contracts.");
  const labels = (branch: string) => [0, depth - 1].map((block) => `${branch}${depth}b${block}`);
  for (let block = 0; block < depth; block++) {
    const isNamed = block === 0 || block === depth - 1;
    const name = { label: `dropped${depth}b${block}`, owner: 1 };
    node.mineBlock({ transactions: isNamed ? scenario.registerName(now(), name) : [] });
  }
  if (!(await subject.reaches(node.chain.head(), 30_000))) return "late before it";
  node.reorganise({
    depth,
    transactions: (position) =>
      position === 0 || position === depth - 1
        ? scenario.registerName(now(), { label: `kept${depth}b${position}`, owner: 2 })
        : [],
  });
  if (!(await subject.reaches(node.chain.head(), 30_000))) return "late after it";
  const found = await registered(subject, [...labels("dropped"), ...labels("kept")]);
  const expected = [...new Set(labels("kept"))].sort();
  return JSON.stringify(found) === JSON.stringify(expected) ? undefined : `names ${found.join(", ")}`;
}

async function registered(subject: Subject, labels: readonly string[]): Promise<string[]> {
  const query = `{ registrations(first: 1000, where: { labelName_in: ${JSON.stringify(labels)} }) { labelName } }`;
  const { data } = await askSubgraph<{ registrations: { labelName: string }[] }>(subject.url, query);
  return data.registrations.map(({ labelName }) => labelName).sort();
}

async function refusesDeepReorg(node: DevNode, subject: Subject): Promise<number> {
  await subject.stop();
  // Finalized blocks are those that Ponder stored: the next start compares their hashes.
  node.reorganise({ depth: 150 });
  subject.start(node.url);
  await subject.waitForExit();
  const lines = subject.lines().join("\n");
  const command = /npm run cache -- (purge --chain \d+ --from \d+)/.exec(lines)?.[1];
  const isRefused = lines.includes("The chain contradicts the index") && command !== undefined;
  if (!isRefused) {
    console.log(`A reorganisation of 150 blocks was not refused: ${lines.slice(-400)}`);
    return 1;
  }
  await subject.runCommand(command.split(" "), node.url);
  subject.newSchema();
  subject.start(node.url);
  const isThere = await subject.reaches(node.chain.head(), 60_000);
  console.log(
    `A reorganisation of 150 blocks: refused; a new index after the purge ${isThere ? "is up" : "IS NOT UP"}.`,
  );
  return isThere ? 0 : 1;
}
