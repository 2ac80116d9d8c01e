import { defaultSubgraphLimits, type SubgraphLimits } from "../../config/limits.ts";
import { type BlockRef, headSql } from "../../ponder/checkpoints.ts";
import type { Database } from "../database/client.ts";
import { compileRequest, type QueryRequest } from "./compile/compile-request.ts";
import type { BlockHashes } from "./request/block-constraint.ts";
import { createDocumentReader } from "./request/document.ts";
import { createIntrospection } from "./request/introspection.ts";
import { type Answer, executeRequest } from "./run/execute.ts";
import { createBlockHashes, type RpcBlock } from "./run/meta.ts";
import { createRows } from "./run/rows.ts";
import { QueryError } from "./schema/errors.ts";

/** What a subgraph reads from and how it presents itself. */
export type SubgraphOptions = {
  database: Database;
  /** Chain whose indexed block `_meta` shows: the root chain of the name service. */
  chainId: number;
  /** Shown as `_meta.deployment`. */
  deployment: string;
  /** Hash, parent hash and time of a block of that chain; undefined if unknown. */
  blockOf: (number: number) => Promise<RpcBlock | undefined>;
  limits?: Partial<SubgraphLimits>;
};

/** Runs GraphQL requests. */
export type Subgraph = {
  readonly limits: SubgraphLimits;
  readonly deployment: string;
  /** Runs a request. Throws BusyError if too many wait; errors of the query are part of the response. */
  answer(request: QueryRequest, signal: AbortSignal): Promise<Answer>;
  /** The latest indexed block; undefined before the first. */
  head(signal: AbortSignal): Promise<BlockRef | undefined>;
  /** Hashes of an indexed block, if they are known already. */
  hashesOf(head: BlockRef): BlockHashes | undefined;
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
  const options = {
    row: createRows(database, limits),
    limits,
    deployment,
    headSql: headSql(chainId),
    hashes: hashes.ask,
  };

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
