import { join } from "node:path";
import { batchOf, createLabelDatabase } from "../../labels-service/store/database.ts";

/** Writes every second label into a database, like an outdated label set; returns its LABELS_URL. */
export function labelsFile(folder: string, labels: readonly string[]): string {
  const path = join(folder, "labels.sqlite");
  const writer = createLabelDatabase(path, "subgraph");
  writer.add(batchOf(labels.filter((_, i) => i % 2 === 0)));
  writer.finish(new Date());
  return `file:${path}`;
}
