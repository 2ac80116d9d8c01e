import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../log/json-log.ts";

type Options = {
  /** Milliseconds before each round, fixed or by the number of earlier rounds. */
  everyMs: number | ((round: number) => number);
  log: Log;
  /** The message for a failed round; only the first in a row is logged. */
  failure: string;
  fields: Parameters<Log>[2];
};

/** Repeats `work` until it returns "done"; a failed round is tried again. Returns how to stop it. */
export function repeat(work: () => Promise<unknown>, { everyMs, log, failure, fields }: Options): () => void {
  const stopped = new AbortController();
  const rounds = async () => {
    let isFailing = false;
    for (let round = 0; ; round++) {
      const ms = typeof everyMs === "number" ? everyMs : everyMs(round);
      await pause(ms, undefined, { signal: stopped.signal, ref: false });
      try {
        if ((await work()) === "done") return;
        isFailing = false;
      } catch (error) {
        if (stopped.signal.aborted) return;
        const reason = error instanceof Error ? error.message : String(error);
        if (!isFailing) log("warn", `${failure}, will try again: ${reason}`, fields);
        isFailing = true;
      }
    }
  };
  // Stopping rejects the wait.
  rounds().catch(() => undefined);
  return () => stopped.abort();
}
