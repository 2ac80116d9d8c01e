import { AsyncLocalStorage } from "node:async_hooks";

const clients = new AsyncLocalStorage<string>();

/** Client of the current request, as named to `forClient`; undefined for the service's own work. */
export const currentClient = () => clients.getStore();

/** Runs a task. Its statements and turns, later ones too, count as the named client's. */
export const forClient = <T>(name: string, task: () => T): T => clients.run(name, task);

const waiting = new Map<string, (() => void)[]>();

/**
 * Waits for a turn. The event loop gives one in each iteration, so that arrived data comes first. Clients take turns,
 * so that many tasks of one client delay another client's task by one.
 */
export function yieldToEventLoop(client = currentClient() ?? ""): Promise<void> {
  return new Promise((resolve) => {
    // The event loop may not have polled for arrived data yet.
    if (waiting.size === 0) setImmediate(() => setImmediate(serve));
    const line = waiting.get(client);
    if (line === undefined) waiting.set(client, [resolve]);
    else line.push(resolve);
  });
}

function serve(): void {
  for (const [client, line] of waiting) {
    line.shift()?.();
    waiting.delete(client);
    if (line.length > 0) waiting.set(client, line);
    break;
  }
  if (waiting.size > 0) setImmediate(serve);
}

/**
 * Yields to the event loop each time that `max` units of work are done. The caller reports its work in a unit of its
 * own.
 */
export function createPacer(max: number): (work: number) => Promise<void> {
  let done = 0;
  return async (work) => {
    done += work;
    if (done < max) return;
    done = 0;
    await yieldToEventLoop();
  };
}
