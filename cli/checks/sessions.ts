import type { Config } from "../../src/config/environment.ts";
import { connect } from "../database.ts";
import { about, type Finding } from "./finding.ts";
import { findNearestUrl } from "./read-servers.ts";

type Settings = Pick<Config, "databaseUrl" | "databaseFolder" | "readUrls" | "sharesSessions">;

// A pooler lends the session that it got back last, unless another client is quicker.
const tries = 5;

/**
 * Checks that connections have sessions of their own. With a pooler in transaction mode two of them take turns on one,
 * and what a process sets on it, such as the schema that it reads, holds for others. Throws a PreflightError if a
 * pooler refuses connections of Ponder.
 */
export async function examineSessions(config: Settings): Promise<Finding[]> {
  if (config.databaseFolder !== undefined || config.sharesSessions) return [];
  const databaseUrl = await findNearestUrl(config);
  const opened: Awaited<ReturnType<typeof connect>>[] = [];
  const [ofOne, ofOther] = [new Set<unknown>(), new Set<unknown>()];
  try {
    for (let count = 0; count < 2; count++) opened.push(await connect(databaseUrl));
    for (let turn = 0; turn < 2 * tries; turn++) {
      const found = await opened[turn % 2]?.run("SELECT pg_backend_pid() AS pid");
      (turn % 2 === 0 ? ofOne : ofOther).add(found?.rows[0]?.["pid"]);
    }
    if ([...ofOne].some((pid) => ofOther.has(pid)))
      return [
        about("sessions").fail(
          "DATABASE_URL leads to a pooler in transaction mode",
          "Set DATABASE_POOLER=transaction for a reader; an indexer needs Postgres itself, or a pooler in session mode.",
        ),
      ];
    // ponder: its connections begin with this parameter.
    opened.push(await connect(databaseUrl, { statement_timeout: 10_000 }));
  } finally {
    for (const one of opened) await one.close();
  }
  return [];
}
