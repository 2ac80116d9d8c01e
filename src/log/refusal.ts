type RefusalOptions = { section?: string | undefined; cause?: unknown };

/**
 * Base of the errors that operators can correct: the message says what is wrong and what to do. `section`: reference to
 * where the documents say more (`seeOperations`), which is shown behind it.
 */
export class Refusal extends Error {
  readonly section: string | undefined;
  constructor(message: string, { section, ...options }: RefusalOptions = {}) {
    super(message, options);
    this.section = section;
  }
}

/** A message for operators with the reference to where the documents say more. */
export const withSection = (message: string, section: string): string =>
  `${message}${message.includes("\n") ? "\n" : " "}${section}`.trim();
