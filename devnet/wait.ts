/** What a wait has seen: `done` with the result, or the state to report when time runs out. */
export type Look<Result> = { done: Result } | { state: string };

/**
 * Polls `look` until it is done. Throws a WaitError that names `what` and the last state after `timeoutMs`; an error of
 * `look` counts as a state.
 */
export async function waitFor<Result>(
  what: string,
  look: () => Promise<Look<Result>>,
  { timeoutMs = 900_000, everyMs = 100 } = {},
): Promise<Result> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const seen = await look().catch((error: unknown) => {
      if (error instanceof WaitError) throw error;
      return { state: error instanceof Error ? describeCause(error) : String(error) };
    });
    if ("done" in seen) return seen.done;
    if (performance.now() > deadline) {
      throw new WaitError(`Waited ${Math.round(timeoutMs / 1000)} s for ${what}; last state: ${seen.state}`);
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

function describeCause({ message, cause }: Error): string {
  return cause instanceof Error ? `${message} (${cause.message})` : message;
}

/**
 * What was waited for does not come: time ran out, `look` threw this to give up at once, or a program cannot start or
 * go on.
 */
export class WaitError extends Error {
  override name = "WaitError";
}
