// Log lines of this service, and the errors that stop it with a message for operators. Control characters of foreign
// texts are escaped here. What Ponder logs is adapted in src/ponder/log-entries.ts.

/** Fields of a log line; undefined ones are omitted. */
type LogFields = Record<string, string | number | undefined>;

/** Writes one log line. */
export type Log = (level: "info" | "warn" | "error", message: string, fields?: LogFields) => void;

/**
 * Reference to a heading of the operators' documents, for messages that ask operators to act or say what is waited for.
 * Those of docs/runbook.md begin with "When".
 */
export const seeOperations = (heading: string) =>
  `See "${heading}" in docs/${heading.startsWith("When ") ? "runbook" : "operations"}.md.`;

/** Creates a log of JSON lines without raw control characters. */
export function createJsonLog(output: { write(text: string): unknown }, now: () => Date): Log {
  return (level, message, fields) => {
    const line = JSON.stringify({ time: now().toISOString(), level, message, ...fields });
    output.write(`${escapeControls(line)}\n`);
  };
}

/**
 * Logs once that a dependency is unavailable, and once that it recovered; all lines have `fields`. `noticed` returns
 * whether it was new.
 */
export function createOutageLog(log: Log, fields: LogFields, now = () => performance.now()) {
  let since: number | undefined;
  return {
    noticed(message: string, more: LogFields): boolean {
      if (since !== undefined) return false;
      since = now();
      log("warn", message, {
        ...fields,
        ...more,
        section: seeOperations("When a dependency is unavailable"),
      });
      return true;
    },
    ended(message: string, more?: LogFields): void {
      if (since === undefined) return;
      log("info", message, { ...fields, ...more, seconds: Math.round((now() - since) / 1_000) });
      since = undefined;
    },
  };
}

/**
 * Escapes every control and formatting character, line separator and lone surrogate as `\u…`. A label, path or request
 * can then neither forge a log line nor reverse the text on a terminal.
 */
export function escapeControls(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (character) =>
    [...Array(character.length).keys()]
      .map((i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** Applies `escapeControls` to each line of the text. */
export const escapeControlsOfLines = (text: string): string =>
  text.split("\n").map(escapeControls).join("\n");

/** The value of a JSON text; undefined for any other text. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A count in English: "1 label", "2,000 labels". */
export const countNoun = (count: number, noun: string): string =>
  `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;

/** A duration, given in seconds: "12 s", "10 min", "2 h", "330 days". */
export function formatSpan(seconds: number): string {
  const [unit, length] = spans.find(([, length]) => seconds >= 2 * length) ?? ["s", 1];
  return `${Math.round(Math.max(0, seconds) / length).toLocaleString("en-US")} ${unit}`;
}

const spans = [
  ["days", 86_400],
  ["h", 3_600],
  ["min", 60],
] as const;
