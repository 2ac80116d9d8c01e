import { brokenInvariants } from "./invariants.ts";
import type { Snapshot } from "./snapshot.ts";

/** A snapshot that was read; `run` identifies the indexing process it comes from. */
export type Reading = { run: string; snapshot: Snapshot };

/** The snapshot in force, and its JSON text, which is built once. */
export type CurrentStatus = { snapshot: Snapshot; json: string };

/** Holds the indexing status for all who need it. */
export type StatusSource = {
  /** The snapshot in force, or undefined before the first. Never waits. */
  current(): CurrentStatus | undefined;
  /** Reads the status once. Never rejects: a reading that fails leaves the snapshot as it was. */
  refresh(): Promise<void>;
  /** Refreshes at once and then `intervalMs` after each reading, until `stop`. */
  start(intervalMs: number): void;
  stop(): void;
};

/**
 * Holds the newest sound snapshot in memory. A reading is dropped if it breaks an invariant, or if its cursor lies
 * before that of the same run: a reorganization takes rows back for a moment, which the cursor hides.
 * `log` gets each reason once, until a reading succeeds again.
 */
export function createStatusSource({
  read,
  save,
  log,
}: {
  read: () => Promise<Reading | undefined>;
  /** Keeps a reading that came into force for other processes. */
  save?: ((reading: Reading) => Promise<void>) | undefined;
  log: (message: string) => void;
}): StatusSource {
  let current: (Reading & CurrentStatus) | undefined;
  let isOpen = true;
  let timer: NodeJS.Timeout | undefined;

  const logOnce = createOnceLogger((message) => {
    if (isOpen) log(message);
  });

  const accept = async (reading: Reading) => {
    const faults = brokenInvariants(reading.snapshot);
    if (faults.length > 0) return `Dropped an indexing status: ${faults.join("; ")}.`;
    if (current !== undefined && goesBack(current, reading)) return undefined;
    current = { ...reading, json: JSON.stringify(reading.snapshot) };
    return save?.(reading).then(undefined, (error) => `Could not save the indexing status: ${reason(error)}`);
  };

  const refresh = async () => {
    const fault = await read().then(
      (reading) => reading && accept(reading),
      (error) => `Could not read the indexing status: ${reason(error)}`,
    );
    logOnce(fault ?? undefined);
  };

  const loop = async (intervalMs: number) => {
    await refresh();
    if (isOpen) timer = setTimeout(() => void loop(intervalMs), intervalMs).unref();
  };

  return {
    current: () => current,
    refresh,
    start: (intervalMs) => void loop(intervalMs),
    stop: () => {
      isOpen = false;
      clearTimeout(timer);
    },
  };
}

function createOnceLogger(log: (message: string) => void): (message: string | undefined) => void {
  let last: string | undefined;
  return (message) => {
    if (message !== undefined && message !== last) log(message);
    last = message;
  };
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function goesBack(before: Reading, after: Reading): boolean {
  return (
    before.run === after.run &&
    after.snapshot.slowestChainIndexingCursor < before.snapshot.slowestChainIndexingCursor
  );
}
