/** How much a log line matters. */
type LogLevel = "info" | "warn" | "error";

/** Facts of a log line by name; undefined ones are left out. */
type LogFields = Record<string, string | number | undefined>;

/** Writes one line of log: what happened, and the facts. */
export type Log = (level: LogLevel, message: string, fields?: LogFields) => void;

/** Where operators read on, by a heading of docs/operations.md: for messages that ask them to act, or say what is waited for. */
export const seeOperations = (heading: string) => `See "${heading}" in docs/operations.md.`;

/** A log of JSON lines without raw control characters. */
export function createJsonLog(output: { write(text: string): unknown }, now: () => Date): Log {
  return (level, message, fields) => {
    const line = JSON.stringify({ time: now().toISOString(), level, message, ...fields });
    output.write(`${escapeControls(line)}\n`);
  };
}

/**
 * The text with every control and formatting character, line separator and lone surrogate as `\u…`, so that neither a
 * label nor a path nor a request can forge a log line or reverse the text on a terminal.
 */
export function escapeControls(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (character) =>
    [...Array(character.length).keys()]
      .map((i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** As `escapeControls`, of each line of the text. */
export const escapeControlsOfLines = (text: string): string =>
  text.split("\n").map(escapeControls).join("\n");

/** A number of things in English: "1 label", "2,000 labels". */
export const counted = (count: number, noun: string): string =>
  `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;

/** A number of seconds for people: "12 s", "10 min", "2 h", "330 days". */
export function spanOf(seconds: number): string {
  const [unit, length] = spans.find(([, length]) => seconds >= 2 * length) ?? ["s", 1];
  return `${Math.round(Math.max(0, seconds) / length).toLocaleString("en-US")} ${unit}`;
}

const spans = [
  ["days", 86_400],
  ["h", 3_600],
  ["min", 60],
] as const;
