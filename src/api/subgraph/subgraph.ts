import { defaultSubgraphLimits, type SubgraphLimits } from "../../config/limits.ts";
import type { Database } from "../database/client.ts";
import { compileRequest, type QueryRequest } from "./compile/compile-request.ts";
import { createDocumentReader } from "./request/document.ts";
import type { BlockHashes, Head } from "./request/head.ts";
import { createIntrospection } from "./request/introspection.ts";
import { createBlockHashes, type RpcBlock } from "./run/block-hashes.ts";
import { type Answer, executeRequest } from "./run/execute.ts";
import { createGate } from "./run/gate.ts";
import { shareRows } from "./run/shared-rows.ts";
import { QueryError } from "./schema/errors.ts";

export type SubgraphOptions = {
  database: Database;
  /** Chain whose indexed block `_meta` tells: the one of the name service's root. */
  chainId: number;
  /** Shown as `_meta.deployment`. */
  deployment: string;
  /** Hash, parent hash and time of a block of that chain; undefined if it cannot be told. */
  blockOf: (number: number) => Promise<RpcBlock | undefined>;
  limits?: Partial<SubgraphLimits>;
};

export type Subgraph = {
  readonly limits: SubgraphLimits;
  readonly deployment: string;
  /** Answers a request. Throws BusyError if too many wait; faults of the query are part of the answer. */
  answer(request: QueryRequest, signal: AbortSignal): Promise<Answer>;
  /** The latest indexed block; undefined before the first. */
  head(signal: AbortSignal): Promise<Head | undefined>;
  /** Hashes of an indexed block as far as they are at hand. */
  hashesOf(head: Head): BlockHashes | undefined;
};

/** The Graph's query dialect over the tables of src/schema/subgraph.ts. */
export function createSubgraph({
  database,
  chainId,
  deployment,
  blockOf,
  limits: given,
}: SubgraphOptions): Subgraph {
  const limits = { ...defaultSubgraphLimits, ...given };
  const readDocument = createDocumentReader(limits);
  const introspect = createIntrospection();
  const hashes = createBlockHashes(blockOf);
  const gate = createGate({ ...limits, concurrency: Math.min(limits.concurrency, database.connections) });
  // The time that a statement may take begins when its turn has come.
  const inTime = (signal: AbortSignal) => AbortSignal.any([signal, AbortSignal.timeout(limits.timeoutMs)]);
  const row = shareRows((sql, values, signal) =>
    gate(signal, () => database.row(sql, values, inTime(signal))),
  );
  const checkpointSql = indexedCheckpointSql(chainId);
  const options = { row, limits, deployment, checkpointSql, hashes: hashes.ask };

  return {
    limits,
    deployment,
    hashesOf: hashes.peek,
    async answer(request, signal) {
      try {
        const compiled = compileRequest(request, { limits, readDocument, introspect });
        return await executeRequest(compiled, options, signal);
      } catch (error) {
        if (error instanceof QueryError)
          return { body: JSON.stringify({ errors: [error.entry] }), head: undefined };
        throw error;
      }
    },
    async head(signal) {
      const empty: QueryRequest = {
        query: "{ __typename }",
        variables: {},
        operationName: undefined,
        extensions: { counts: false, truncated: false },
      };
      return (await this.answer(empty, signal)).head;
    },
  };
}

// ponder: after a restart the tables stand at the safe checkpoint, but `latest_checkpoint` keeps the former head until it
// is next written. While the backfill is not complete both are alike, so the safe one is right then.
function indexedCheckpointSql(chainId: number): string {
  const isReady = "(SELECT value ->> 'is_ready' FROM _ponder_meta WHERE key = 'app')";
  return `(SELECT CASE WHEN ${isReady} = '1' THEN latest_checkpoint ELSE safe_checkpoint END FROM _ponder_checkpoint WHERE chain_id = ${Math.trunc(chainId)})`;
}
