import type { LookupResult } from "./types.generated.ts";

type Waiting = {
  name: string;
  resolve: (result: LookupResult) => void;
  reject: (reason: unknown) => void;
  leave?: (reason: unknown) => void;
};

type LookUp = (names: string[], signal: AbortSignal) => Promise<LookupResult[]>;

// The service takes a thousand inputs of 100,000 characters in all.
const maxNames = 500;
const maxCharacters = 50_000;

/**
 * Collects names that are asked for together, and looks them up in one request. A caller's signal ends its own wait;
 * that of the last caller ends the request.
 */
export function createBatcher(lookUp: LookUp) {
  const waiting = new Set<Waiting>();

  function flush(): void {
    for (const batch of splitBatches(waiting)) void send(batch, lookUp);
    waiting.clear();
  }

  return async (name: string, signal: AbortSignal | undefined): Promise<LookupResult> => {
    signal?.throwIfAborted();
    let stop = () => {};
    try {
      return await new Promise((resolve, reject) => {
        const one: Waiting = { name, resolve, reject };
        stop = () => {
          waiting.delete(one);
          one.leave?.(signal?.reason);
          reject(signal?.reason);
        };
        signal?.addEventListener("abort", stop);
        // Not a timer: in an edge worker, one request cannot wait for what another began.
        if (waiting.size === 0) queueMicrotask(flush);
        waiting.add(one);
      });
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  };
}

async function send(batch: readonly Waiting[], lookUp: LookUp): Promise<void> {
  const controller = new AbortController();
  let left = batch.length;
  for (const one of batch)
    one.leave = (reason) => {
      left--;
      if (left === 0) controller.abort(reason);
    };
  try {
    const names = batch.map(({ name }) => name);
    const results = await lookUp(names, controller.signal);
    for (const [index, { resolve }] of batch.entries()) resolve(results[index] as LookupResult);
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}

function splitBatches(all: Iterable<Waiting>): Waiting[][] {
  const batches: Waiting[][] = [];
  let characters = 0;
  for (const one of all) {
    const last = batches.at(-1);
    characters += one.name.length;
    if (last === undefined || last.length === maxNames || characters > maxCharacters) {
      batches.push([one]);
      characters = one.name.length;
    } else last.push(one);
  }
  return batches;
}
