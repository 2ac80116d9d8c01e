import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import Database from "better-sqlite3";
import { PreflightError } from "../refusal.ts";
import { isServerReady, type PostgresServer, startServer } from "./server.ts";

// The private Postgres server, for configurations without DATABASE_URL. This folder finds the programs, starts and
// stops the server; it knows nothing of the index in it.

/** What a process has of the private server until it releases it. */
export type Hold = { release(): Promise<void> };

type Held = { count: number; unlock(): void; server: Promise<PostgresServer> };

// Of this process, by folder.
const held = new Map<string, Held>();

/**
 * Holds the private server of `folder` for this process: starts it, and stops it with the last release. Where another
 * process holds it, only a start (`isOwner`) is refused: others use that server. Undefined if there is none yet, which
 * only a start creates.
 */
export async function holdServer(
  folder: string,
  { isOwner }: { isOwner: boolean },
): Promise<Hold | undefined> {
  const own = held.get(folder);
  if (own === undefined && !isOwner && !existsSync(folder)) return undefined;
  const unlock = own?.unlock ?? lock(folder);
  if (unlock === undefined) {
    if (!isOwner) return waitForOther(folder);
    throw new PreflightError(
      `Another process uses the database in ${folder}. Stop it, or set DATABASE_FOLDER to another folder.`,
    );
  }
  const hold = own ?? { count: 0, unlock, server: startServer(folder) };
  held.set(folder, hold);
  hold.count += 1;
  const release = async () => {
    hold.count -= 1;
    if (hold.count > 0) return;
    held.delete(folder);
    const server = await hold.server.catch(() => undefined);
    await server?.stop();
    unlock();
  };
  await hold.server.catch(async (error) => {
    await release();
    throw error;
  });
  return { release };
}

// The system drops the lock with the process, however that ends.
function lock(folder: string): (() => void) | undefined {
  mkdirSync(dirname(folder), { recursive: true });
  const file = new Database(`${folder}.lock`, { timeout: 0 });
  try {
    file.exec("BEGIN EXCLUSIVE");
    return () => file.close();
  } catch (error) {
    file.close();
    if ((error as { code?: string }).code === "SQLITE_BUSY") return undefined;
    throw error;
  }
}

const startMs = 30_000;

/** Waits for the server that another process holds, and may be starting. */
async function waitForOther(folder: string): Promise<Hold> {
  for (let waited = 0; waited < startMs; waited += 100) {
    if (isServerReady(folder)) return { release: async () => {} };
    await wait(100);
  }
  throw new PreflightError(
    `Another process holds the database in ${folder}, whose server does not run. Stop that process.`,
  );
}
