import { Transform } from "node:stream";
import type { Config } from "../src/config/environment.ts";
import { escapeControls, parsedJson } from "../src/log/json-log.ts";

// Ponder logs what contracts, nodes and clients say. None of it may look like another entry, or control a terminal.

const maxCharacters = 4_000;

/**
 * Stream that removes secrets and control characters from Ponder's output, cuts long texts, and indents later lines of
 * an entry. In a log each line is an entry: a JSON string (cli/preload.mjs) or an object (`--log-format json`).
 */
export function createLogLines(secrets: Secrets, isLog: boolean): Transform {
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

// Messages of Postgres (53100).
const fullDisk = /no space left on device|disk full/i;
// Ponder exits right after its last attempt.
const justNowMs = 60_000;

/**
 * Watches Ponder's output. `isFull`: whether it reported a full disk within the last minute; an older report does not
 * explain an exit.
 */
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
  const entry = isLog ? parsedJson(line) : undefined;
  if (typeof entry === "string") return shorten(entry).split("\n").map(escapeControls).join("\n  ");
  // No entry: shown as it is.
  if (typeof entry !== "object" || entry === null) return escapeControls(shorten(line));
  const shortened = (_: string, value: unknown) => (typeof value === "string" ? shorten(value) : value);
  return escapeControls(JSON.stringify(entry, shortened));
}

const cut = (text: string) =>
  text.length > maxCharacters ? `${text.slice(0, maxCharacters)}… (${text.length} characters)` : text;

// Ponder and its libraries log whole URLs; those of RPC providers and databases contain keys.

/** Texts that no log may contain, each with its replacement. */
type Secrets = readonly (readonly [secret: string, standIn: string])[];

/**
 * Secrets of a configuration: URLs with more than a host (RPC, database, labels, archive), and the passwords and keys
 * in them.
 */
export function listSecrets({
  chains,
  databaseUrl,
  databaseFolder,
  readUrls = [],
  labelsUrl,
  archive = "",
}: Pick<Config, "chains" | "databaseUrl" | "databaseFolder" | "labelsUrl" | "archive"> &
  Partial<Pick<Config, "readUrls">>): Secrets {
  const urls = chains.flatMap(({ rpc }) => [...rpc.http, ...(rpc.ws === undefined ? [] : [rpc.ws])]);
  const all = [
    ...urls,
    ...(databaseFolder === undefined ? [databaseUrl] : []),
    ...readUrls,
    labelsUrl,
    archive,
  ];
  const secrets = all
    .filter((url) => url.includes("://") && !url.startsWith("file:"))
    .flatMap(listSecretsOfUrl);
  // Longer ones come first, so that no part of them remains.
  return [...new Map(secrets)].toSorted(([a], [b]) => b.length - a.length);
}

// A path may be "rpc" or contain a key: the whole URL is always hidden, a part of it only if it is as long as a key.
const shortestKey = 16;

function listSecretsOfUrl(text: string): [string, string][] {
  const url = new URL(text);
  const { username, password, pathname, searchParams, protocol, host } = url;
  // viem sends user and password as a header, and reports the URL without them.
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
