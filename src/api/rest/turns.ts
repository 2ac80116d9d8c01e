const slices: (() => void)[] = [];

/**
 * Lets other requests have their turn. The slices of all requests wait in one line: between two of them the process takes
 * what has arrived, so that many long requests delay a short one no more than one does.
 */
export function letOthersWork(): Promise<void> {
  return new Promise((resolve) => {
    if (slices.push(resolve) === 1) setImmediate(nextSlice);
  });
}

// The first call of a line may come before the process has looked for what has arrived, the others come after.
function nextSlice(): void {
  setImmediate(() => {
    slices.shift()?.();
    if (slices.length > 0) nextSlice();
  });
}
