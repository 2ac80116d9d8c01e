import type { IndexedChain } from "../../src/config/chains.ts";
import type { Config } from "../../src/config/environment.ts";
import { seeOperations } from "../../src/log/json-log.ts";
import {
  type CachedRange,
  purgeCommands,
  readUnverified,
  unverifiedSection,
} from "../../src/operations/cache.ts";
import {
  type Contradiction,
  describeContradictions,
  findContradiction,
} from "../../src/operations/finalized-blocks.ts";
import { readStatuses } from "../../src/operations/stored-indexes.ts";
import { requestHash } from "../../src/ponder/rpc-request.ts";
import { PreflightError } from "../refusal.ts";
import { about, type Finding } from "./finding.ts";
import { checkOnDatabase } from "./index-state.ts";
import { nameUrl } from "./nodes.ts";

// Ponder resumes from its checkpoints and its cache without asking whether the chain still has those blocks.

type Settings = Pick<Config, "namespace" | "chains" | "databaseUrl" | "databaseFolder" | "databaseSchema">;

const section = seeOperations("When the chain contradicts the index");

/**
 * Compares the blocks of index and cache with the nodes. After a difference the index does not start, and the finding
 * says what to run.
 */
export function examineBlocks(config: Settings): Promise<Finding[]> {
  const { warning, away, fail } = about("blocks");
  return checkOnDatabase(config, async (run) => {
    const findings: Finding[] = [];
    const found: Contradiction[] = [];
    for (const chain of config.chains) {
      const contradiction = await findContradiction(run, chain.id, hashReader(chain)).catch((error) => {
        if (!(error instanceof AggregateError)) throw error;
        findings.push(
          warning(
            `Could not compare chain ${chain.id} with the index: no node responds`,
            "It is compared again while live.",
            seeOperations("When a dependency is unavailable"),
          ),
        );
        return undefined;
      });
      if (contradiction === undefined) continue;
      // A shorter test chain was recreated; another chain's node has not caught up yet.
      if (contradiction.theirs === undefined && config.namespace !== "ens-test-env") {
        const lag = `The node of chain ${chain.id} has no block ${contradiction.block} yet, which the index rests on`;
        return [away(lag, "", section)];
      }
      found.push(contradiction);
    }
    const ids = config.chains.map(({ id }) => id);
    const unverified = await readUnverified(run, ids);
    const { purged } = await readStatuses(run, config.databaseSchema);
    const fault = findFault(config.databaseSchema, found, unverified, purged);
    return fault === undefined ? findings : [fail(fault.found, fault.remedy, fault.section)];
  });
}

/**
 * Reads block hashes from all URLs of a chain. Rejects with a PreflightError if they differ, and with an AggregateError
 * if none responds.
 */
function hashReader({ id, rpc }: IndexedChain) {
  return async (number: number): Promise<string | undefined> => {
    const answers = rpc.http.map((url) => requestHash(url, number));
    await Promise.any(answers);
    const hashes = await Promise.all(answers.map((answer) => answer.catch(() => undefined)));
    const first = hashes.findIndex((hash) => hash !== undefined);
    const other = hashes.findIndex((hash) => hash !== undefined && hash !== hashes[first]);
    if (other < 0) return hashes[first];
    throw new PreflightError(
      `The nodes of chain ${id} contradict each other: block ${number} is ${hashes[first]} at ` +
        `${nameUrl(id, rpc.http, first)} and ${hashes[other]} at ${nameUrl(id, rpc.http, other)}. ` +
        `Take the one on the wrong chain out of RPC_URL_${id}.`,
    );
  };
}

type Fault = Required<Pick<Finding, "found" | "remedy" | "section">>;

/** Fault of this schema's index; undefined for a sound one. */
function findFault(
  schema: string,
  found: readonly Contradiction[],
  unverified: readonly CachedRange[],
  purged: CachedRange | undefined,
): Fault | undefined {
  const newIndex = `Set a new DATABASE_SCHEMA; once nothing uses the old index, npm run db -- prune ${schema} removes it.`;
  const purge = (ranges: readonly CachedRange[]) =>
    `\n\n  ${purgeCommands(ranges, "\n  ")}\n\nThen build a new index. ${newIndex}`;
  if (found.length > 0) {
    const ranges = found.map(({ chainId, from }) => ({ chainId, from }));
    return {
      found: describeContradictions(found),
      remedy: `Nothing was changed. Remove the blocks that the chain no longer has:${purge(ranges)}`,
      section,
    };
  }
  if (unverified.length > 0)
    return {
      found:
        "RPC endpoint returned incomplete or fabricated logs, or served another chain, and its earlier responses may be in the cache and in the index",
      remedy: `Take the URL out of RPC_URL_<chainId>, or add one of another provider. Then remove the unverified blocks:${purge(unverified)}`,
      section: unverifiedSection,
    };
  if (purged === undefined) return undefined;
  return {
    found: `The index in schema "${schema}" depends on purged blocks of chain ${purged.chainId} from ${purged.from} on`,
    remedy: newIndex,
    section,
  };
}
