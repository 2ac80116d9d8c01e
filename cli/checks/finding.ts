/**
 * Result of a check; `remedy` says what to do. A start waits while something is `away`, logs and carries out a `repair`, and does not start
 * after `fail`. It carries out the repair of an `ok` silently.
 */
export type Finding = {
  subject: string;
  state: "ok" | "warning" | "away" | "repair" | "fail";
  found: string;
  remedy?: string;
  repair?(): Promise<unknown>;
};

/** Constructors of findings about a subject. */
export const about = (subject: string) => ({
  ok: (found: string): Finding => ({ subject, state: "ok", found }),
  warning: (found: string, remedy: string): Finding => ({ subject, state: "warning", found, remedy }),
  away: (found: string, remedy: string): Finding => ({ subject, state: "away", found, remedy }),
  fail: (found: string, remedy: string): Finding => ({ subject, state: "fail", found, remedy }),
});
