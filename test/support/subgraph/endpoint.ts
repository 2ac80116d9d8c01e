import { Hono } from "hono";
import type { Entities, Entity } from "../../../devnet/entities.ts";
import type { Parts } from "../../../src/api/kit/send.ts";
import { createSubgraph, type SubgraphOptions, subgraphRoutes } from "../../../src/api/subgraph/routes.ts";
import type { SubgraphAnswer } from "../../../src/api/subgraph/run/execute.ts";
import { defaultSubgraphLimits, type SubgraphLimits } from "../../../src/config/limits.ts";
import { forClient } from "../../../src/http/turn.ts";
import type { Pool } from "../../../src/ponder/sql-client.ts";
import { createChainBlocks } from "../../../src/read/chain-blocks.ts";
import { createDatabase, type Database, queueStatements } from "../../../src/read/sql/client.ts";
import { checkpointOf } from "../checkpoints.ts";
import { copyDatabase, createTestDatabase, type TestDatabase, template } from "../database.ts";
import { recordedEntities } from "../recordings.ts";
import { insertStatements } from "./entities.ts";

/** The block that the stand-in chain's index has reached, and its hashes. */
export const headBlock = {
  number: 1666,
  timestamp: 1_700_000_000,
  hash: `0x${"ab".repeat(32)}`,
  parentHash: `0x${"cd".repeat(32)}`,
};

type GraphqlAnswer<Data> = {
  data?: Data;
  errors?: { message: string; locations?: unknown }[];
  extensions?: unknown;
};

/** The text of an answer's body. */
export function bodyText(body: SubgraphAnswer["body"]): string {
  if (typeof body === "string") return body;
  const parts: Parts = body instanceof Uint8Array ? [body] : body;
  return Buffer.concat(parts.map((part) => Buffer.from(part as string))).toString();
}

/** A database with the schema's tables and indexes, and the rows of entities. */
export async function createLoadedDatabase(entities: Entities): Promise<TestDatabase> {
  const client = await createTestDatabase("indexes");
  await load(client, entities);
  return client;
}

/** A database with the entities of the recorded root chain, which are loaded once for all test files. */
export const createRecordedDatabase = async (options?: { connections: number }): Promise<TestDatabase> =>
  copyDatabase(await template("recorded_entities", (client) => load(client, recordedEntities())), options);

async function load(client: TestDatabase, entities: Entities): Promise<void> {
  for (const { text, values } of insertStatements(entities)) await client.query(text, values);
  await client.query(
    "INSERT INTO _ponder_checkpoint (chain_name, chain_id, latest_checkpoint) VALUES ('a', 1, $1)",
    [checkpointOf(headBlock)],
  );
  await client.exec("ANALYZE");
}

/** The endpoint over a database, on the stand-in chain, with one client; `ask` posts a query and reads the answer. */
export function createEndpoint(
  client: Pool | Database,
  limits: Partial<SubgraphLimits> = {},
  options: Pick<SubgraphOptions, "endBlock" | "hasErrors" | "v2" | "edition"> = {},
) {
  const database =
    "row" in client
      ? queueStatements(client.row, { ...defaultSubgraphLimits, ...limits }, 10)
      : createDatabase(client, limits);
  const subgraph = createSubgraph({
    database,
    chainId: 1,
    deployment: "test",
    blocks: createChainBlocks(
      async (_, by) => ("number" in by && by.number === headBlock.number ? headBlock : undefined),
      { log: () => undefined },
    ),
    limits,
    ...options,
  });
  const app = new Hono().use((_, next) => forClient("192.0.2.1", next)).route("/", subgraphRoutes(subgraph));
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    app.request("/", {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  const ask = async <Data = { [field: string]: Entity[] }>(query: string, variables?: unknown) =>
    (await (await post({ query, variables })).json()) as GraphqlAnswer<Data>;
  return { database, subgraph, app, post, ask };
}
