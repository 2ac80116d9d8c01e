import { Transform } from "node:stream";
import { escapeControls } from "../src/log/json-log.ts";
import { redact, type Secrets } from "./redact.ts";

// Ponder puts what contracts, nodes and clients say into its log. It writes JSON, where no text can pass for a second line;
// for people the lines are formatted here.

/** How lines come and go: `asText` for output that is no log; `isTerminal` for colours. */
export type LogStyle = { format: "asText" | "json" | "pretty"; isTerminal: boolean };

type Entry = { level: number; time: number; msg: string; duration?: number; error?: LoggedError } & object;
type LoggedError = { name?: string; message?: string; stack?: string; where?: string; meta?: string };

const mostCharacters = 500;
const mostOfMessage = 4_000;
const mostErrorLines = 60;

/** Passes Ponder's output on, line by line, without secrets and control characters, and with long texts cut. */
export function logLines(secrets: Secrets, style: LogStyle): Transform {
  const decoder = new TextDecoder();
  let rest = "";
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      done(null, lines.map((line) => `${render(line, secrets, style)}\n`).join(""));
    },
    flush(done) {
      done(null, rest === "" ? "" : render(rest, secrets, style));
    },
  });
}

function render(line: string, secrets: Secrets, { format, isTerminal }: LogStyle): string {
  const clean = (text: unknown, most = mostCharacters) =>
    escapeControls(cut(redact(String(text), secrets), most));
  const entry = format === "asText" ? undefined : parse(line);
  if (entry === undefined) return clean(line, mostOfMessage);
  if (format === "pretty") return pretty(entry, clean, isTerminal);
  const cutValues = (_: string, value: unknown) =>
    typeof value === "string" ? cut(redact(value, secrets), mostOfMessage) : value;
  return escapeControls(JSON.stringify(entry, cutValues));
}

function parse(line: string): Entry | undefined {
  try {
    const value = JSON.parse(line);
    return typeof value?.msg === "string" && typeof value.time === "number" ? value : undefined;
  } catch {
    return undefined; // Not from Ponder's logger: shown as it is.
  }
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}… (${text.length} characters)` : text;
}

const levels: Record<number, [label: string, color: number]> = {
  60: ["FATAL", 31],
  50: ["ERROR", 31],
  40: ["WARN ", 33],
  30: ["INFO ", 32],
  20: ["DEBUG", 34],
  10: ["TRACE", 90],
};
const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  hour12: false,
});
const shownApart = ["level", "time", "msg", "duration", "error", "chain_id"];

// As Ponder's own format for people.
function pretty(entry: Entry, clean: (text: unknown, most?: number) => string, isTerminal: boolean): string {
  const paint = (text: string, on: number, off: number) =>
    isTerminal ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  const [label, color] = levels[entry.level] ?? ["     ", 39];
  const fields = Object.entries(entry)
    .filter(([name]) => !shownApart.includes(name))
    .map(([name, value]) => ` ${clean(name)}=${clean(value)}`)
    .join("");
  const duration = entry.duration ? ` (${durationText(entry.duration)})` : "";
  const { error } = entry;
  const details = error ? [error.stack ?? `${error.name}: ${error.message}`, error.where, error.meta] : [];
  // Indented, so that no line of an error can pass for an entry.
  const lines = details
    .flatMap((text) => (text === undefined ? [] : text.split("\n", mostErrorLines)))
    .slice(0, mostErrorLines)
    .map((text) => `\n  ${clean(text)}`);
  const time = paint(clock.format(new Date(entry.time)), 2, 22);
  return `${time} ${paint(label, color, 39)} ${clean(entry.msg, mostOfMessage)}${paint(fields + duration, 2, 22)}${lines.join("")}`;
}

function durationText(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  if (seconds === 0) return `${Math.round(milliseconds)}ms`;
  const parts = [
    [Math.floor(seconds / 3600), "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"],
  ] as const;
  return parts.flatMap(([count, unit]) => (count > 0 ? [`${count}${unit}`] : [])).join(" ");
}
