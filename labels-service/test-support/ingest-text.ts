import { Readable } from "node:stream";
import { type IngestOptions, type IngestReport, ingest } from "../ingest/ingest.ts";
import { openInput } from "../ingest/read-input.ts";

/** Nobody watches. */
export const noOutput = { write: () => {} };

/** Ingests the bytes as they come from standard input, with defaults for what a test does not care about. */
export function ingestBytes(
  bytes: Buffer | string,
  options: Partial<IngestOptions> & { databasePath: string },
): Promise<IngestReport> {
  return ingest({
    input: openInput("-", Readable.from([Buffer.from(bytes)])),
    ...ingestDefaults,
    ...options,
  });
}

/** Options of `ingest` without a database and an input. */
export const ingestDefaults = {
  labelSetId: "ens-test-env",
  labelSetVersion: 0,
  skipInvalid: false,
  checkpointBytes: Number.POSITIVE_INFINITY,
  stderr: noOutput,
  now: () => new Date("2026-01-02T03:04:05.678Z"),
};
