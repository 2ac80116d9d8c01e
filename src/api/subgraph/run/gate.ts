import { BusyError } from "../schema/errors.ts";

/** Lets `concurrency` tasks run at a time and `queue` wait; a task beyond these throws BusyError. */
export function createGate({ concurrency, queue }: { concurrency: number; queue: number }) {
  const waiting = new Set<() => void>();
  let running = 0;

  function leave(): void {
    const [next] = waiting;
    if (next === undefined) running -= 1;
    else {
      waiting.delete(next);
      next();
    }
  }

  async function enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (running < concurrency) {
      running += 1;
      return;
    }
    if (waiting.size >= queue) throw new BusyError(1);
    await new Promise<void>((resolve, reject) => {
      const give = () => {
        signal.removeEventListener("abort", stop);
        resolve();
      };
      const stop = () => {
        waiting.delete(give);
        reject(signal.reason);
      };
      waiting.add(give);
      signal.addEventListener("abort", stop, { once: true });
    });
  }

  /** Runs the task when its turn comes; not at all if `signal` is aborted before. */
  return async <T>(signal: AbortSignal, task: () => Promise<T>): Promise<T> => {
    await enter(signal);
    try {
      return await task();
    } finally {
      leave();
    }
  };
}
