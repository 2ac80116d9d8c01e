import { Transform } from "node:stream";
import type { Config } from "../src/config/environment.ts";
import { escapeControls } from "../src/log/json-log.ts";

// Ponder puts what contracts, nodes and clients say into its log: nothing of it may pass for an entry or control a terminal.

const mostCharacters = 4_000;
const mostOfLaterLine = 500;
const mostLines = 60;

/**
 * Passes Ponder's output on without secrets and control characters; long texts are cut, later lines of an entry indented. In a log each
 * line is an entry, as a JSON string (cli/preload.mjs) or an object (`--log-format json`).
 */
export function logLines(secrets: Secrets, isLog: boolean): Transform {
  const decoder = new TextDecoder();
  let rest = "";
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      done(null, lines.map((line) => `${render(line, secrets, isLog)}\n`).join(""));
    },
    flush(done) {
      done(null, rest === "" ? "" : render(rest, secrets, isLog));
    },
  });
}

// Postgres (53100) and the embedded database put it so.
const fullDisk = /no space left on device|disk full/i;
// Ponder ends at once after its last try.
const justNowMs = 60_000;

/** Sees Ponder's output. `isFull`: whether it has reported a full disk within the last minute; older lines explain no end. */
export function watchForFullDisk(now: () => number) {
  let last = Number.NEGATIVE_INFINITY;
  return {
    see(chunk: Buffer): void {
      if (fullDisk.test(chunk.toString("utf8"))) last = now();
    },
    isFull: () => now() - last < justNowMs,
  };
}

function render(line: string, secrets: Secrets, isLog: boolean): string {
  const shorten = (text: string, most = mostCharacters) => cut(redact(text, secrets), most);
  const entry = isLog ? parse(line) : undefined;
  if (typeof entry === "string") {
    const [first = "", ...later] = redact(entry, secrets).split("\n", mostLines);
    const head = escapeControls(cut(withHostsOnce(first), mostCharacters));
    const below = later.map((text) => `\n  ${escapeControls(cut(text, mostOfLaterLine))}`);
    return `${head}${below.join("")}`;
  }
  if (typeof entry !== "object" || entry === null) return escapeControls(shorten(line));
  const shortened = (_: string, value: unknown) => (typeof value === "string" ? shorten(value) : value);
  return escapeControls(JSON.stringify(entry, shortened));
}

// ponder: names the host of every entry of its list of RPC URLs, in which a URL is repeated (`entriesForRate`).
function withHostsOnce(line: string): string {
  return line.replace(
    /^([\d:.]+ INFO +Connected to JSON-RPC\b.*\bhostnames=)(\["[^\]]*"\])/,
    (_, head, hosts) => {
      const names = parse(hosts);
      return head + (Array.isArray(names) ? JSON.stringify([...new Set(names)]) : hosts);
    },
  );
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // No entry: shown as it is.
  }
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}… (${text.length} characters)` : text;
}

// Ponder and its libraries put whole URLs into their messages; those of RPC providers and databases contain keys.

/** What must not appear in any log: each secret with its replacement. */
type Secrets = readonly (readonly [secret: string, standIn: string])[];

/** The secrets of a configuration: RPC URLs with more than a host, the database's URL and password, the label service's. */
export function secretsOf({
  chains,
  databaseUrl,
  labelsUrl,
  archive = "",
}: Pick<Config, "chains" | "databaseUrl" | "labelsUrl" | "archive">): Secrets {
  const urls = chains.flatMap(({ rpc }) => [...rpc.http, ...(rpc.ws === undefined ? [] : [rpc.ws])]);
  const all = [...urls, ...(databaseUrl === undefined ? [] : [databaseUrl]), labelsUrl, archive];
  const secrets = all.filter((url) => url.includes("://") && !url.startsWith("file:")).flatMap(secretsOfUrl);
  // Longer ones first, so that no part of them remains.
  return [...new Map(secrets)].toSorted(([a], [b]) => b.length - a.length);
}

// A path may be "rpc" or contain a key: the whole URL is always hidden, a part of it only if it is long enough to be a
// key.
const shortestKey = 16;

function secretsOfUrl(text: string): [string, string][] {
  const url = new URL(text);
  const hidden = `${url.protocol}//${url.host}/…`;
  const isDatabase = url.protocol.startsWith("postgres");
  const keys = [url.username, ...url.pathname.split("/"), ...url.searchParams.values()].filter(
    ({ length }) => length >= shortestKey,
  );
  // viem sends user and password as a header, and names the URL without them.
  const bare = Object.assign(new URL(text), { username: "", password: "" });
  const holdsMore = url.pathname.length > 1 || url.search !== "";
  const texts = [text, url.href, ...(holdsMore ? [bare.href] : [])];
  const whole = texts.map((one): [string, string] => [one, hidden]);
  return [
    ...(url.password !== "" || ((holdsMore || url.username !== "") && !isDatabase) ? whole : []),
    ...(url.password === ""
      ? []
      : [url.password, decodeURIComponent(url.password)].map((part): [string, string] => [part, "…"])),
    ...(isDatabase ? [] : keys.map((key): [string, string] => [key, "…"])),
  ];
}

/** The text without the secrets. */
export function redact(text: string, secrets: Secrets): string {
  return secrets.reduce((result, [secret, standIn]) => result.replaceAll(secret, standIn), text);
}
