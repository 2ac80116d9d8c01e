import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { digestOfText } from "../src/ens/keccak.ts";
import { ensrainbowFormatVersion, ensrainbowIdentifier } from "./formats/ensrainbow.ts";
import type { Progress } from "./ingest/progress.ts";
import type { LabelScan } from "./store/database-reader.ts";
import { flush } from "./store/database-writer.ts";

const partSize = 1024 * 1024;

/**
 * Writes the labels of one version as an `.ensrainbow` file, in the order of their labelhashes. The file is at
 * `path` only when it is complete. Returns the number of labels.
 */
export function exportVersion(scan: LabelScan, version: number, path: string, progress: Progress): number {
  const partPath = `${path}.part`;
  const file = openSync(partPath, "w");
  try {
    let records = 0;
    const total = scan.versions.find((row) => row.version === version)?.recordsCount ?? 0;
    for (const part of ensrainbowParts(scan, version)) {
      for (let done = 0; done < part.bytes.length; ) done += writeSync(file, part.bytes, done);
      records = part.records;
      progress.report("exporting", records, total && records / total);
    }
    progress.finish();
    closeSync(file);
    flush(partPath);
    renameSync(partPath, path);
    return records;
  } catch (error) {
    rmSync(partPath, { force: true });
    throw error;
  }
}

/** The bytes of an `.ensrainbow` file in parts, each with the number of records up to its end. */
function* ensrainbowParts(scan: LabelScan, version: number): Generator<{ bytes: Buffer; records: number }> {
  let parts = [header(scan.facts.labelSetId, version)];
  let length = 0;
  let records = 0;
  for (const labels of labelsOf(scan, version)) {
    for (const label of labels) {
      const bytes = record(label);
      parts.push(bytes);
      length += bytes.length;
    }
    records += labels.length;
    if (length < partSize) continue;
    yield { bytes: Buffer.concat(parts), records };
    parts = [];
    length = 0;
  }
  yield { bytes: Buffer.concat(parts), records };
}

function* labelsOf(scan: LabelScan, version: number): Generator<string[]> {
  for (const rows of scan.labels(version)) yield rows.map(([, label]) => label);
  yield scan.collisions(version).map(([, label]) => label);
}

function header(labelSetId: string, version: number): Buffer {
  const message = new BinaryWriter()
    .tag(1, 2)
    .string(ensrainbowIdentifier)
    .tag(2, 0)
    .uint32(ensrainbowFormatVersion)
    .tag(3, 2)
    .string(labelSetId)
    .tag(4, 0)
    .uint32(version)
    .finish();
  return Buffer.concat([varint(message.length), message]);
}

const headOfRecord = Buffer.from([0x0a, 32]);
const tagOfLabel = Buffer.from([0x12]);

function record(label: string): Buffer {
  const text = Buffer.from(label);
  // Protocol Buffers leave out an empty field.
  const field = text.length === 0 ? [] : [tagOfLabel, varint(text.length), text];
  const length = 34 + field.reduce((sum, { length }) => sum + length, 0);
  return Buffer.concat([varint(length), headOfRecord, digestOfText(label), ...field]);
}

function varint(value: number): Buffer {
  return Buffer.from(new BinaryWriter().uint32(value).finish());
}
