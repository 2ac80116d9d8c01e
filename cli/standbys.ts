import { type Look, lookAt, parseHost } from "../src/operations/read-servers.ts";
import { readStreams } from "../src/operations/stored-indexes.ts";
import type { Statement } from "../src/ponder/sql-client.ts";
import { connect } from "./database.ts";
import { PreflightError } from "./refusal.ts";

/** A server that responded to a look at it. */
export type Server = Look & { url: string; place: string; run: Statement };

/**
 * Does work on connections to those servers of `urls` that respond; `away` has the places of those that do not, or
 * refuse the connection, with the reason.
 */
export async function withServers<T>(
  urls: readonly string[],
  work: (servers: readonly Server[], away: readonly string[]) => Promise<T>,
): Promise<T> {
  const closes: (() => Promise<void>)[] = [];
  const away: string[] = [];
  const open = async (url: string): Promise<Server[]> => {
    const place = parseHost(url);
    try {
      const { run, close } = await connect(url);
      closes.push(close);
      return [{ ...(await lookAt(run)), url, place, run }];
    } catch (error) {
      // The driver's error of several addresses has no message.
      const { message, code = "no response" } = error as Error & { code?: unknown };
      away.push(`${place} (${message || code})`);
      return [];
    }
  };
  try {
    const servers = await Promise.all(urls.map(open));
    return await work(servers.flat(), away);
  } finally {
    await Promise.all(closes.map((close) => close()));
  }
}

/**
 * The standbys of a primary that were named and respond, the places of those that do not, and how many others stream,
 * with all addresses.
 */
export type Standbys = {
  named: readonly Server[];
  away: readonly string[];
  others: number;
  hosts: readonly string[];
};

/**
 * Does work on the standbys of the server of `run`, which may be among `urls` itself. Throws a PreflightError if one is
 * of another system.
 */
export function withStandbys<T>(
  run: Statement,
  urls: readonly string[],
  work: (standbys: Standbys) => Promise<T>,
): Promise<T> {
  return withServers(urls, async (servers, away) => {
    const own = await lookAt(run);
    const foreign = servers.find(({ system }) => system !== own.system);
    if (foreign !== undefined)
      throw new PreflightError(`${foreign.place} is not a standby of the server of DATABASE_URL.`);
    const named = servers.filter(({ isStandby }) => isStandby);
    // Standbys may stream from one another.
    const streams = await Promise.all([{ run }, ...named].map((server) => readStreams(server.run)));
    const hosts = streams.flatMap((one) => one.hosts);
    const known = streams.filter(({ isStreaming }) => isStreaming).length;
    return work({ named, away, others: Math.max(0, hosts.length - known), hosts });
  });
}
