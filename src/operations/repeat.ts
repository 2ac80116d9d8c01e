import { setTimeout as pause } from "node:timers/promises";
import { type Log, seeOperations } from "../log/json-log.ts";

type RepeatOptions = {
  /** Milliseconds before each round, fixed or by the number of earlier rounds. */
  everyMs: number | ((round: number) => number);
  log: Log;
  /** The message for a failed round; only the first in a row is logged. */
  failure: string;
  /** Of that message; without them it names the section of outages. */
  fields?: Parameters<Log>[2];
};

const outage = { section: seeOperations("When a dependency is unavailable") };

/**
 * Repeats `work` until it returns "done"; a failed round is tried again. Returns how to stop it; its `soon` begins the
 * next round at once.
 */
export function repeat(
  work: () => Promise<unknown>,
  { everyMs, log, failure, fields = outage }: RepeatOptions,
) {
  let isStopped = false;
  let waiting = new AbortController();
  const rounds = async () => {
    let isFailing = false;
    for (let round = 0; ; round++) {
      const ms = typeof everyMs === "number" ? everyMs : everyMs(round);
      await pause(ms, undefined, { signal: waiting.signal, ref: false }).catch(() => undefined);
      if (isStopped) return;
      // What calls `soon` from here on shortens the next wait.
      waiting = new AbortController();
      try {
        if ((await work()) === "done") return;
        isFailing = false;
      } catch (error) {
        if (isStopped) return;
        const reason = error instanceof Error ? error.message : String(error);
        if (!isFailing) log("warn", `${failure}, retrying: ${reason}`, fields);
        isFailing = true;
      }
    }
  };
  void rounds();
  const soon = () => waiting.abort();
  const stop = () => {
    isStopped = true;
    soon();
  };
  return Object.assign(stop, { soon });
}
