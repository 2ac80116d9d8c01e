const waiting: (() => void)[] = [];

/** Waits for a turn: one of all that wait for each turn of the event loop, so that what has arrived meanwhile comes first. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(serve);
  });
}

function serve(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(serve);
}
