import { setTimeout as wait } from "node:timers/promises";

/** Runs a function for all items, `width` at once; its results in the order of the items. After a failure no further one begins. */
export async function inParallel<In, Out>(
  items: readonly In[],
  width: number,
  run: (item: In) => Promise<Out>,
): Promise<Out[]> {
  const results: Out[] = [];
  let next = 0;
  const worker = async () => {
    try {
      for (let i = next++; i < items.length; i = next++) results[i] = await run(items[i] as In);
    } finally {
      next = items.length;
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}

const tries = 5;

/** Milliseconds before a request is sent again. */
export const pauseMs = 250;

/** Sends a request until it succeeds, five times at most. */
export async function retried<Result>(request: () => Promise<Result>): Promise<Result> {
  for (let i = 1; ; i++) {
    try {
      return await request();
    } catch (error) {
      if (i === tries) throw error;
      await wait(pauseMs * 2 ** i);
    }
  }
}
