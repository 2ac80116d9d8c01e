const waiting = new Map<string, (() => void)[]>();

/**
 * Waits for a turn: one of all that wait for each turn of the event loop, so that what has arrived meanwhile comes first. Clients take
 * turns, so that many waiting ones of one client delay those of another by one.
 */
export function nextTurn(client = ""): Promise<void> {
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
