import { type Hex, namehash } from "viem";
import type { Subregistry } from "../../src/deployments/namespaces.ts";
import { createDatabase, type Database } from "../../src/read/sql/client.ts";
import { checkpointOf } from "./checkpoints.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";

/** Registrars of the test: `eth` on chain 1, `base.eth` on chain 8453. */
export const subregistries: Subregistry[] = [
  {
    subregistryId: "eip155:1:0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85",
    chainId: 1,
    node: namehash("eth"),
    namesPlugin: "subgraph",
  },
  {
    subregistryId: "eip155:8453:0x03c4738ee98ae44591e1a4a4f3cab6641d95dd9a",
    chainId: 8453,
    node: namehash("base.eth"),
    namesPlugin: "basenames",
  },
];

/** A registrar action as a test wants it; omitted fields are generated. */
export type GivenAction = {
  name: string;
  type?: "registration" | "renewal";
  timestamp: number;
  logIndex?: number;
  registrant?: Hex;
  referrer?: Hex;
  price?: [baseCost: number, premium: number];
  /** Seconds; a year of 365 days unless given. */
  duration?: number;
};

/** The id of an action, as Ponder's checkpoint of its first log is built. */
export const actionId = ({ name, timestamp, logIndex = 0 }: GivenAction): string =>
  checkpointOf({ number: timestamp / 10, timestamp, logIndex }, chainOf(name).chainId);

const chainOf = (name: string) => subregistries[name.endsWith(".base.eth") ? 1 : 0]!;

/** An in-memory Postgres with registrar actions, their lifecycles and names. */
export async function createActionsDatabase(actions: readonly GivenAction[]) {
  const client = await createTestDatabase("indexes");
  for (const { subregistryId, node } of subregistries) {
    await client.query("INSERT INTO subregistries VALUES ($1, $2)", [subregistryId, node]);
  }
  for (const action of actions) await insertAction(client, action);
  await client.query(
    "INSERT INTO _ponder_checkpoint VALUES ('main', 1, $1, $1, $1), ('base', 8453, $1, $1, $1)",
    [checkpointOf({ number: 1, timestamp: 1_000_000_000 })],
  );
  const database: Database = createDatabase(client);
  return { client, database };
}

/** Stores one more action; moves the finalized checkpoint of all chains to `finalized` (Unix seconds), if given. */
export async function insertAction(
  client: TestDatabase,
  action: GivenAction,
  finalized?: number,
): Promise<void> {
  const { name, type = "registration", timestamp, referrer, price } = action;
  const node = namehash(name);
  const { subregistryId } = chainOf(name);
  const encoded = referrer ?? null;
  const decoded = referrer === undefined ? null : `0x${referrer.slice(-40)}`;
  await client.query(
    `INSERT INTO registration_lifecycles (node, subregistry_id, expires_at) VALUES ($1, $2, 1900000000) ON CONFLICT DO NOTHING`,
    [node, subregistryId],
  );
  await client.query(
    `INSERT INTO domain (id, name, subdomain_count, is_migrated, created_at, owner_id, change_block)
      VALUES ($1, $2, 0, true, 1, $1, 1) ON CONFLICT DO NOTHING`,
    [node, name],
  );
  await client.query(
    `INSERT INTO registrar_actions (id, type, subregistry_id, node, incremental_duration, registrant, block_number, timestamp,
      transaction_hash, event_ids, base_cost, premium, total, encoded_referrer, decoded_referrer)
      VALUES ($1, $2, $3, $4, $13, $5, $6, $7, $8, ARRAY[$1::text], $9::bigint, $10::bigint, $9::bigint + $10::bigint, $11, $12)`,
    [
      actionId(action),
      type,
      subregistryId,
      node,
      action.registrant ?? `0x${"b0".repeat(20)}`,
      timestamp / 10,
      timestamp,
      Buffer.alloc(32, 0x7a),
      price?.[0] ?? null,
      price?.[1] ?? null,
      encoded,
      decoded,
      action.duration ?? 31_536_000,
    ],
  );
  if (finalized === undefined) return;
  await client.query("UPDATE _ponder_checkpoint SET latest_checkpoint = $1, finalized_checkpoint = $1", [
    checkpointOf({ number: 1, timestamp: finalized }),
  ]);
}
