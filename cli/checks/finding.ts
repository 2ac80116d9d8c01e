/**
 * Result of a check; `remedy` says what to do. A start logs a `warning`, waits while something is `away`, and does not start after `fail`.
 */
export type Finding = {
  subject: string;
  state: "ok" | "warning" | "away" | "fail";
  found: string;
  remedy?: string;
};

/** Constructors of findings about a subject. */
export const about = (subject: string) => ({
  ok: (found: string): Finding => ({ subject, state: "ok", found }),
  warning: (found: string, remedy: string): Finding => ({ subject, state: "warning", found, remedy }),
  away: (found: string, remedy: string): Finding => ({ subject, state: "away", found, remedy }),
  fail: (found: string, remedy: string): Finding => ({ subject, state: "fail", found, remedy }),
});
