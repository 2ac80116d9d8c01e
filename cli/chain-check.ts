import { checkArchive, compareWithNode, shuffled } from "../src/archive/check.ts";
import { readManifest } from "../src/archive/folder.ts";
import { believedOfArchive, levelOf } from "../src/archive/manifest.ts";
import type { IndexedChain } from "../src/config/chains.ts";
import type { Config } from "../src/config/environment.ts";
import { counted, seeOperations } from "../src/log/json-log.ts";
import {
  type CachedRange,
  orphanedBy,
  purgeCache,
  purgeCommands,
  readUnverified,
  unverifiedSection,
} from "../src/operations/cache.ts";
import { type Contradiction, findContradiction } from "../src/operations/finalized-blocks.ts";
import { requestHash, requestRpc } from "../src/ponder/rpc-request.ts";
import { isDatabaseAway, quoted, type Statement } from "../src/ponder/sql-client.ts";
import type { RpcRequest } from "../src/rpc/nodes.ts";
import { nameOfUrl, type OpenDatabase, openDatabase, PreflightError } from "./preflight.ts";

// Ponder resumes from its checkpoints and its cache without asking whether the chain still has those blocks.

type Settings = Pick<Config, "namespace" | "chains" | "databaseUrl" | "pgliteDirectory" | "databaseSchema">;

/** Time and messages as arguments, so that tests need not wait. */
type Tools = { log(message: string): void; wait(milliseconds: number): Promise<void>; now(): number };

const pause = 10_000;
const databaseAway = "The database does not respond";
const section = seeOperations("When the chain contradicts the index");

/**
 * Compares the blocks that index and cache rest on with the nodes. On a difference Postgres is left as it is and a
 * PreflightError says what to run; an embedded database is purged and starts over. Waits for a node that lags behind.
 */
export async function requireSameChains(config: Settings, tools: Tools): Promise<void> {
  for (;;) {
    const reason = await compare(config, tools);
    if (reason === undefined) return;
    const see = reason === databaseAway ? seeOperations("While something is away") : section;
    tools.log(`${reason}; trying again in ${pause / 1000} s. ${see}`);
    await tools.wait(pause);
  }
}

/** Why to wait; undefined once index and nodes agree. */
async function compare(config: Settings, tools: Tools): Promise<string | undefined> {
  let database: OpenDatabase | undefined;
  try {
    database = await openDatabase(config);
    if (database === undefined) return undefined;
    return await compareWith(database.run, config, tools);
  } catch (error) {
    if (!isDatabaseAway(error)) throw error;
    return databaseAway;
  } finally {
    await database?.close();
  }
}

async function compareWith(run: Statement, config: Settings, tools: Tools): Promise<string | undefined> {
  const found: Contradiction[] = [];
  for (const chain of config.chains) {
    const contradiction = await findContradiction(run, chain.id, hashReader(chain)).catch((error) => {
      if (!(error instanceof SilentNodesError)) throw error;
      tools.log(
        `Could not compare chain ${chain.id} with the index: no node responds. It is compared again while live. ` +
          seeOperations("While something is away"),
      );
      return undefined;
    });
    if (contradiction === undefined) continue;
    // A test chain that is shorter was recreated; another node has not caught up yet.
    if (contradiction.theirs === undefined && config.namespace !== "ens-test-env") {
      return `The node of chain ${chain.id} has no block ${contradiction.block} yet, which the index rests on`;
    }
    found.push(contradiction);
  }
  const orphan = await orphanedBy(run, config.databaseSchema);
  const doubts = await readUnverified(
    run,
    config.chains.map(({ id }) => id),
  );
  if (found.length === 0 && orphan === undefined && doubts.length === 0) return undefined;
  if (config.databaseUrl === undefined) await startOver(run, config.databaseSchema, { found, doubts }, tools);
  else if (found.length > 0 || doubts.length === 0) throw refusal(config.databaseSchema, found, orphan);
  else throw doubtRefusal(config.databaseSchema, doubts);
  return undefined;
}

/** Reads hashes from all URLs of a chain. Rejects with a PreflightError if they differ, and if none responds. */
function hashReader({ id, rpc }: IndexedChain) {
  return async (number: number): Promise<string | undefined> => {
    const answers = await Promise.allSettled(rpc.http.map((url) => requestHash(url, number)));
    const hashes = answers.map((answer) => (answer.status === "fulfilled" ? answer.value : undefined));
    if (answers.every(({ status }) => status === "rejected")) throw new SilentNodesError();
    const first = hashes.findIndex((hash) => hash !== undefined);
    const other = hashes.findIndex((hash) => hash !== undefined && hash !== hashes[first]);
    if (other < 0) return hashes[first];
    throw new PreflightError(
      `The nodes of chain ${id} contradict each other: block ${number} is ${hashes[first]} at ` +
        `${nameOfUrl(id, rpc.http, first)} and ${hashes[other]} at ${nameOfUrl(id, rpc.http, other)}. ` +
        `Take the one on the wrong chain out of RPC_URL_${id}.`,
    );
  };
}

class SilentNodesError extends Error {
  override name = "SilentNodesError";
}

const describe = ({ chainId, block, ours, theirs }: Contradiction) =>
  `block ${block} of chain ${chainId} is ${ours} in the index, ${theirs === undefined ? "and the node has no such block" : `${theirs} at the node`}`;

const newIndexOf = (schema: string) =>
  `Set a new DATABASE_SCHEMA; once nothing uses the old index, npm run db -- prune ${schema} removes it.`;

function refusal(
  schema: string,
  found: readonly Contradiction[],
  orphan: { chainId: number; from: number } | undefined,
): PreflightError {
  const newIndex = newIndexOf(schema);
  if (found.length === 0) {
    return new PreflightError(
      `The index in schema "${schema}" rests on blocks of chain ${orphan?.chainId} from ${orphan?.from} on, which were purged. ${newIndex} ${section}`,
    );
  }
  const commands = found.map(
    ({ chainId, from }) => `  npm run cache -- purge --chain ${chainId} --from ${from}`,
  );
  return new PreflightError(
    `The chain contradicts the index: ${found.map(describe).join("; ")}. Nothing was changed. ` +
      `Remove the blocks that the chain no longer has:\n\n${commands.join("\n")}\n\n` +
      `Then build a new index. ${newIndex} ${section}`,
  );
}

function doubtRefusal(schema: string, doubts: readonly Required<CachedRange>[]): PreflightError {
  return new PreflightError(
    `RPC endpoint returned incomplete or fabricated logs, or served another chain, and what it returned before may be in the cache and in the index. Take the URL out ` +
      `of RPC_URL_<chainId>, or add one of another provider. Then remove the blocks in doubt:\n\n` +
      `  ${purgeCommands(doubts, "\n  ")}\n\nThen build a new index. ${newIndexOf(schema)} ${unverifiedSection}`,
  );
}

/** Purges the cache of an embedded database and drops its index: its test chains are often recreated. */
async function startOver(
  run: Statement,
  schema: string,
  { found, doubts }: { found: readonly Contradiction[]; doubts: readonly Required<CachedRange>[] },
  { log, now }: Tools,
) {
  for (const { chainId, from } of found) await purgeCache(run, { chainId, from }, now());
  for (const range of doubts) await purgeCache(run, range, now());
  await run(`DROP SCHEMA IF EXISTS ${quoted(schema)} CASCADE`);
  await run(`CREATE SCHEMA ${quoted(schema)}`);
  const purged = found.map(({ chainId, from }) => `chain ${chainId} from block ${from} on`).join(", ");
  const reason =
    found.length === 0
      ? doubts.length > 0
        ? "an RPC endpoint returned incomplete or fabricated logs, or served another chain; the blocks in doubt were purged from the cache"
        : "blocks that it rests on were purged from the cache"
      : `${found.map(describe).join("; ")}. Purged from the cache: ${purged}`;
  log(
    `The index starts over: ${reason}. ${found.length === 0 && doubts.length > 0 ? unverifiedSection : section}`,
  );
}

/** What an archive has of a chain, or what is wrong with it. */
type ArchiveState = { chain: IndexedChain; found?: string; problem?: string };

/** What ARCHIVE has of each chain: how far it is proven, and whether it contradicts itself or a node. None without ARCHIVE. */
export function examineArchive({
  archive,
  chains,
}: Pick<Config, "archive" | "chains">): Promise<ArchiveState[]> {
  if (archive === undefined) return Promise.resolve([]);
  return Promise.all(
    chains.map((chain) =>
      archiveState(archive, chain).catch((error: unknown) => ({
        chain,
        problem: error instanceof Error ? error.message : String(error),
      })),
    ),
  );
}

// Of an archive on a host that others may control a few segments are read and compared, of a folder the newest.
const spotChecked = { segments: 3, blocks: 5 };

async function archiveState(archive: string, chain: IndexedChain): Promise<ArchiveState> {
  const manifest = await readManifest(archive, chain.id);
  const [last, ...others] = manifest?.segments.toSorted((a, b) => b.to - a.to) ?? [];
  if (manifest === undefined || last === undefined) return { chain };
  const isRemote = archive.includes("://");
  const drawn = isRemote ? shuffled(others).slice(0, spotChecked.segments - 1) : [];
  const part = { ...manifest, segments: [last, ...drawn], results: [] };
  const found = await checkArchive({ place: archive, manifest: part, progress: () => {} });
  const samples = isRemote ? spotChecked.blocks : 0;
  const ask = nodeOf(chain);
  const isCompared = await compareWithNode({
    ...{ place: archive, manifest: part, found, samples, random: Math.random, ask },
  }).then(
    () => true,
    (error) => {
      if (!(error instanceof SilentNodesError)) throw error;
      return false;
    },
  );
  const [problem] = found.problems;
  if (problem !== undefined) return { chain, problem };
  const logs = manifest.segments.reduce((sum, one) => sum + one.logs, 0);
  const compared = isCompared ? counted(found.compared, "block") : "nothing";
  const checked = isRemote ? `, ${compared} compared with the node` : "";
  const believed = believedOfArchive(manifest).join("; ");
  const has = `${logs} logs up to block ${last.to}, ${levelOf(manifest)}${checked}`;
  return { chain, found: `${has}; believed without proof: ${believed}` };
}

/** Asks the first RPC URL of a chain; rejects where it gives no result, as for a block that it does not have yet. */
function nodeOf({ rpc }: IndexedChain) {
  return async (request: RpcRequest): Promise<unknown> => {
    const reply = await requestRpc(rpc.http[0] ?? "", request).catch(() => undefined);
    if (reply?.result === undefined || reply.result === null) throw new SilentNodesError();
    return reply.result;
  };
}

/** Throws a PreflightError that says what is wrong with the archive that ARCHIVE names, if there is one. */
export async function requireArchive(config: Pick<Config, "archive" | "chains">): Promise<void> {
  const states = await examineArchive(config);
  const problems = states.flatMap(({ chain, problem }) => (problem ? [`chain ${chain.id}: ${problem}`] : []));
  if (states.length > 0 && states.every(({ found, problem }) => (found ?? problem) === undefined))
    problems.push(`it has none of the chains ${states.map(({ chain }) => chain.id).join(", ")}`);
  if (problems.length === 0) return;
  throw new PreflightError(
    `ARCHIVE cannot be used: ${problems.join("; ")}. Correct or remove ARCHIVE, or fetch the archive again.`,
  );
}
