import { escapeControls } from "./escape-controls.ts";

/** Writes one line of log: what happened, and the facts. */
export type Log = (
  level: "info" | "warn" | "error",
  message: string,
  fields?: Record<string, string | number | undefined>,
) => void;

/** A log of JSON lines, without a raw control character in them. */
export function createLog(output: { write(text: string): unknown }, now: () => Date): Log {
  return (level, message, fields) => {
    const line = JSON.stringify({ time: now().toISOString(), level, message, ...fields });
    output.write(`${escapeControls(line)}\n`);
  };
}
