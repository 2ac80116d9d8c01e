import type { Config } from "../src/config/environment.ts";

// Ponder and its libraries put whole URLs into their messages; those of RPC providers and databases contain keys.

/** What must not appear in any log: each secret with its replacement. */
export type Secrets = readonly (readonly [secret: string, standIn: string])[];

/** The secrets of a configuration: RPC URLs with more than a host, the database's URL and password, the label service's. */
export function secretsOf({
  chains,
  databaseUrl,
  labelsUrl,
}: Pick<Config, "chains" | "databaseUrl" | "labelsUrl">): Secrets {
  const urls = chains.flatMap(({ rpc }) => [...rpc.http, ...(rpc.ws === undefined ? [] : [rpc.ws])]);
  const all = [...urls, ...(databaseUrl === undefined ? [] : [databaseUrl]), labelsUrl];
  const secrets = all.filter((url) => !url.startsWith("file:")).flatMap(secretsOfUrl);
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
  const keys = [...url.pathname.split("/"), ...url.searchParams.values()].filter(
    ({ length }) => length >= shortestKey,
  );
  const whole: [string, string][] = [
    [text, hidden],
    [url.href, hidden],
  ];
  const holdsMore = url.pathname.length > 1 || url.search !== "";
  return [
    ...(url.password !== "" || (holdsMore && !isDatabase) ? whole : []),
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
