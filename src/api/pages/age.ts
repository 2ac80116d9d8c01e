import { formatSpan } from "../../log/json-log.ts";
import { findSlowest } from "../../status/snapshot.ts";
import type { StatusSource } from "../../status/status.ts";
import { findIndexedBlock } from "../../status/types.ts";

/** What the age of rows is known from. `clock` returns milliseconds. */
export type DatedSources = { status: Pick<StatusSource, "current">; clock: () => number };

/** A distance in seconds from which on readers should know of it: blocks come more often. */
export const lateSeconds = 60;

/**
 * The time that rows of a chain are of, in Unix seconds: that of its last indexed block, by which `/v1` decides who
 * holds a name. The words of a page must not go by another clock. The present while nothing is indexed.
 */
export function timeOfIndex({ status, clock }: DatedSources, chainId: number | undefined): number {
  const { chains, omnichainIndexingCursor } = status.current()?.snapshot.omnichainSnapshot ?? {};
  const { timestamp = omnichainIndexingCursor } = findIndexedBlock(chains?.[String(chainId)]) ?? {};
  return timestamp ?? Math.floor(clock() / 1_000);
}

/** What readers of a page should know of an index that is behind; undefined while it follows its chains. */
export function describeAge({ status, clock }: DatedSources): string | undefined {
  const current = status.current();
  if (current === undefined) return undefined;
  const { time } = findSlowest(current.snapshot);
  const distance = clock() / 1_000 - time;
  if (distance <= lateSeconds) return undefined;
  const date = new Date(time * 1_000).toISOString().slice(0, 16).replace("T", " ");
  return `The index is ${formatSpan(distance)} behind. What this page says, and when something was, is as of ${date} UTC.`;
}
