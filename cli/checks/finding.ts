// What a check finds. Each other file of this folder checks one subject before a start or for `npm run doctor`;
// cli/checks.ts lists the checks and runs them.

/**
 * Result of a check; `remedy` says what to do, `section` refers to where the documents say more (`seeOperations`). A
 * start logs a `warning`, waits while something is `away`, and does not start after `fail`.
 */
export type Finding = {
  subject: string;
  state: "ok" | "warning" | "away" | "fail";
  found: string;
  remedy?: string;
  section?: string | undefined;
};

/** Constructors of findings about a subject. */
export const about = (subject: string) => {
  const withState =
    (state: Finding["state"]) =>
    (found: string, remedy: string, section?: string): Finding => ({
      ...{ subject, state, found, remedy },
      ...(section === undefined ? {} : { section }),
    });
  return {
    ok: (found: string): Finding => ({ subject, state: "ok", found }),
    warning: withState("warning"),
    away: withState("away"),
    fail: withState("fail"),
  };
};
