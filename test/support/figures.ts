import { readClasses, readLabelCoverage } from "../../src/operations/label-coverage.ts";
import { createStatusTable, saveStatus } from "../../src/operations/stored-indexes.ts";
import type { IndexedNamespace } from "../../src/read/names/indexed-namespaces.ts";
import { createCounting, createFigures } from "../../src/read/stats/count.ts";
import { checkpointOf } from "./checkpoints.ts";
import type { TestDatabase } from "./database.ts";

type Reached = { chainId: number; block: { number: number; timestamp: number } };

/** Counts names and the figures of days of a stored index whose chain has reached a block, as if that were final. */
export async function countFigures(
  client: Pick<TestDatabase, "query">,
  namespaces: readonly IndexedNamespace[],
  { chainId, block }: Reached,
): Promise<void> {
  const run = (text: string, values?: unknown[]) => client.query<Record<string, unknown>>(text, values);
  await createStatusTable(run, "public");
  await createFigures(run, "public");
  await run("DELETE FROM _ponder_checkpoint");
  await run("INSERT INTO _ponder_checkpoint VALUES ('main', $1, $2, $2, $2)", [
    chainId,
    checkpointOf(block, chainId),
  ]);
  const counted = await readLabelCoverage(run, "public");
  const classes = await readClasses(run, "public");
  await saveStatus(run, "public", "coverage", { at: block.timestamp * 1_000, ...counted, classes });
  const count = createCounting({ run, schema: "public", namespaces });
  while (await count());
}
