import { AsyncLocalStorage } from "node:async_hooks";

const clients = new AsyncLocalStorage<string>();

/** The client whose request is worked on here, as named to `forClient`; undefined for the service's own work. */
export const currentClient = () => clients.getStore();

/** Runs a task whose statements and turns, later ones too, count as those of the client with this name. */
export const forClient = <T>(name: string, task: () => T): T => clients.run(name, task);

const waiting = new Map<string, (() => void)[]>();

/**
 * Waits for a turn: one of all that wait for each turn of the event loop, so that what has arrived meanwhile comes first. Clients take
 * turns, so that many waiting ones of one client delay those of another by one.
 */
export function yieldToEventLoop(client = currentClient() ?? ""): Promise<void> {
  return new Promise((resolve) => {
    // A call may come before the process has looked for what has arrived.
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

/** Yields each time that `most` work was done; the caller tells how much it does, in a unit of its own. */
export function createPacer(most: number): (work: number) => Promise<void> {
  let done = 0;
  return async (work) => {
    done += work;
    if (done < most) return;
    done = 0;
    await yieldToEventLoop();
  };
}
