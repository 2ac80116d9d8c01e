/**
 * What a check found: `remedy` says what to do. A start waits for what is `away`, carries out repairs, and is refused by what fails;
 * a repair of what is `ok` is done without a word.
 */
export type Finding = {
  subject: string;
  state: "ok" | "warning" | "away" | "repair" | "fail";
  found: string;
  remedy?: string;
  repair?(): Promise<unknown>;
};

/** Findings about a subject. */
export const about = (subject: string) => ({
  ok: (found: string): Finding => ({ subject, state: "ok", found }),
  warning: (found: string, remedy: string): Finding => ({ subject, state: "warning", found, remedy }),
  away: (found: string, remedy: string): Finding => ({ subject, state: "away", found, remedy }),
  fail: (found: string, remedy: string): Finding => ({ subject, state: "fail", found, remedy }),
});
