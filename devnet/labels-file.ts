import { createBatch, createLabelDatabase } from "../labels-service/store/database.ts";

/** Writes a label database with these labels as version 0 of the set; returns how many it holds. */
export function writeLabelsFile(path: string, labels: readonly string[], labelSetId = "subgraph"): number {
  const writer = createLabelDatabase(path, labelSetId);
  writer.add(createBatch([...labels]));
  return writer.finish(new Date()).recordsCount;
}
