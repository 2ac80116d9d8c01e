import { Transform } from "node:stream";
import type { Config } from "../src/config/environment.ts";
import { escapeControls } from "../src/log/json-log.ts";

// Ponder puts what contracts, nodes and clients say into its log: nothing of it may pass for an entry or control a terminal.

const mostCharacters = 4_000;

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
  const shorten = (text: string) => cut(redact(text, secrets));
  const entry = isLog ? parse(line) : undefined;
  if (typeof entry === "string") return shorten(entry).split("\n").map(escapeControls).join("\n  ");
  if (typeof entry !== "object" || entry === null) return escapeControls(shorten(line));
  const shortened = (_: string, value: unknown) => (typeof value === "string" ? shorten(value) : value);
  return escapeControls(JSON.stringify(entry, shortened));
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // No entry: shown as it is.
  }
}

const cut = (text: string) =>
  text.length > mostCharacters ? `${text.slice(0, mostCharacters)}… (${text.length} characters)` : text;

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
  const { username, password, pathname, searchParams, protocol, host } = url;
  // viem sends user and password as a header, and names the URL without them.
  const bare = Object.assign(new URL(text), { username: "", password: "" });
  const urls = [text, url.href, bare.href].filter((one) => one.replace(/\/$/, "") !== `${protocol}//${host}`);
  const parts = [username, ...pathname.split("/"), ...searchParams.values()];
  const keys = protocol.startsWith("postgres") ? [] : parts.filter(({ length }) => length >= shortestKey);
  if (password !== "") keys.push(password, decodeURIComponent(password));
  return [
    ...urls.map((one): [string, string] => [one, `${protocol}//${host}/…`]),
    ...keys.map((key): [string, string] => [key, "…"]),
  ];
}

/** The text without the secrets. */
export function redact(text: string, secrets: Secrets): string {
  return secrets.reduce((result, [secret, standIn]) => result.replaceAll(secret, standIn), text);
}
