import { v2Contract, v2NamingJob, v2NamingQueue, v2RegistryPath } from "../../schema/ensv2.ts";
import { type Scope, upsert } from "../scope.ts";

/**
 * Entries to be named at a path of their registry: `count` of them, from `storageId` backwards. `node`: the node of a
 * path that was given up.
 */
export type NamingJob = Omit<typeof v2NamingJob.$inferSelect, "chainId" | "position">;

// Limits in rows of a log, of all logs of a block, and of a waiting job's turn. What is left waits for later logs.
const maxPerLog = 512;
const maxPerBlock = 8_192;
const turn = 64;

/**
 * Runs the given jobs, then waiting ones, within the limits; the rest waits. `run` returns the rows spent and the jobs
 * left.
 */
export async function runNamingJobs(
  scope: Scope,
  given: readonly NamingJob[],
  run: (job: NamingJob, budget: number) => Promise<{ spent: number; rest: NamingJob[] }>,
): Promise<void> {
  const { db, chainId, blockNumber } = scope;
  const queue = await db.find(v2NamingQueue, { chainId });
  let { first, next } = queue ?? { first: 0, next: 0 };
  if (given.length === 0 && first === next) return;
  const before = queue?.blockNumber === blockNumber ? queue.spent : 0;
  const max = Math.min(maxPerLog, maxPerBlock - before);
  const own = [...given];
  const left: NamingJob[] = [];
  let spent = 0;
  while (spent < max && own.length > 0) {
    const done = await run(own.pop() as NamingJob, max - spent);
    spent += done.spent;
    own.push(...done.rest);
  }
  for (; spent < max && first < next; first++) {
    const job = await take(scope, first);
    if (job === null) continue;
    const done = await run(job, Math.min(turn, max - spent));
    spent += done.spent;
    left.push(...done.rest);
  }
  for (const job of [...left, ...own]) if (await wait(scope, job, next)) next += 1;
  const values = { first, next, blockNumber, spent: before + spent };
  await upsert(scope, v2NamingQueue, { chainId }, values);
}

async function take({ db, chainId }: Scope, position: number): Promise<NamingJob | null> {
  const job = await db.find(v2NamingJob, { chainId, position });
  if (job === null) return null;
  const { registry, path, storageId, count, node } = job;
  await db.delete(v2NamingJob, { chainId, position });
  const key = { chainId, registry, path };
  if (await db.find(v2RegistryPath, key)) await db.update(v2RegistryPath, key).set({ job: null });
  return { registry, path, storageId, count, node };
}

// Queues the job at the position; false if its path already has a job, which then begins again with all entries.
async function wait({ db, chainId }: Scope, job: NamingJob, position: number): Promise<boolean> {
  const { registry, path } = job;
  const key = { chainId, registry, path };
  const found = job.node === null ? await db.find(v2RegistryPath, key) : null;
  if (found !== null && found.job !== null) {
    const row = await db.find(v2Contract, { chainId, address: registry });
    if (row?.lastEntry)
      await db
        .update(v2NamingJob, { chainId, position: found.job })
        .set({ storageId: row.lastEntry, count: row.entryCount ?? 0 });
    return false;
  }
  await db.insert(v2NamingJob).values({ chainId, position, ...job });
  if (found !== null) await db.update(v2RegistryPath, key).set({ job: position });
  return true;
}
