import { type Look, lookAt, placeOf } from "../src/operations/read-servers.ts";
import type { Statement } from "../src/ponder/sql-client.ts";
import { openDatabase } from "./database.ts";

/** A server that responded to a look at it. */
export type Server = Look & { url: string; place: string; run: Statement };

/**
 * Does work on connections to those servers of `urls` that respond; `away` has the places of those that do not, or refuse the connection,
 * with the reason.
 */
export async function onServers<T>(
  urls: readonly string[],
  work: (servers: readonly Server[], away: readonly string[]) => Promise<T>,
): Promise<T> {
  const closes: (() => Promise<void>)[] = [];
  const away: string[] = [];
  const open = async (url: string): Promise<Server[]> => {
    const place = placeOf(url);
    try {
      const { run, close } = (await openDatabase({ databaseUrl: url, pgliteDirectory: "" })) ?? {};
      if (run === undefined || close === undefined) return [];
      closes.push(close);
      return [{ ...(await lookAt(run)), url, place, run }];
    } catch (error) {
      // The driver's error of several addresses has no message.
      const { message, code = "no answer" } = error as Error & { code?: unknown };
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
