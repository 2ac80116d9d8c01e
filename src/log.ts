type Level = "info" | "warn" | "error";

/** Facts of a log line by name; undefined ones are left out. */
export type LogFields = Record<string, string | number | undefined>;

/** Writes one line of log: what happened, and the facts. */
export type Log = (level: Level, message: string, fields?: LogFields) => void;

type PonderLogger = Record<Level, (line: { msg: string } & LogFields) => void>;

/** The log of this process: Ponder's where it runs, so that level and format are the operator's, else standard error. */
export function processLog(): Log {
  return (level, message, fields) => {
    const ponder = (globalThis as { PONDER_COMMON?: { logger: PonderLogger } }).PONDER_COMMON;
    if (ponder) ponder.logger[level]({ msg: message, ...fields });
    else console.error(JSON.stringify({ level, msg: message, ...fields }));
  };
}

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
