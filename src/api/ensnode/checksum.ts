import { z } from "zod/v4";
import { timestampParameter } from "../../ens/parameters.ts";
import { countSchema, secondsSchema } from "../../ens/schemas.ts";
import { HttpError } from "../../http/error.ts";
import { checksumEvery } from "../../operations/checksums.ts";
import type { Database } from "../../read/sql/client.ts";
import { endpoint } from "../kit/endpoint.ts";
import { messageSchema } from "../kit/errors.ts";

const hex = (digits: number) => z.string().regex(new RegExp(`^[0-9a-f]{${digits}}$`));

const table = z.strictObject({ rows: countSchema, hash: hex(32) });
const range = z.strictObject({ from: secondsSchema, to: secondsSchema });
const stored = z.object({
  found: z.object({ hash: hex(64), tables: z.record(z.string(), table) }).nullable(),
  from: z.int().nullable(),
  to: z.int().nullable(),
});

const schema = z.strictObject({
  timestamp: secondsSchema.describe(
    "The rows are those of all events in blocks before this time, on every chain; no reorganization can revert them",
  ),
  hash: hex(64).describe(
    "Equal for two indexes of one configuration and `timestamp` if all their rows are equal",
  ),
  tables: z
    .record(z.string(), table)
    .describe("Number of rows of each table, and a hash that does not depend on their order"),
  kept: range.describe("The times that can be requested"),
});

const tableSql = "SELECT to_regclass('_checksums')::text";
const sql = `WITH results AS MATERIALIZED (SELECT * FROM _checksums)
  SELECT json_build_object('found', (SELECT json_build_object('hash', hash, 'tables', tables) FROM results
    WHERE timestamp <= coalesce(nullif($1, '')::bigint, until) AND until >= coalesce(nullif($1, '')::bigint, until)
    ORDER BY timestamp DESC LIMIT 1),
  'from', (SELECT min(timestamp) FROM results), 'to', (SELECT max(until) FROM results))::text`;

/** GET /api/checksum. */
export const checksum = endpoint({
  path: "/api/checksum",
  tag: "Meta",
  summary: "Checksums of the rows",
  description: `To find out whether two indexes of one configuration are equal, query the one that is behind, query the other with its \`timestamp\`, and compare \`hash\`. Times are multiples of ${checksumEvery} seconds; an index with an end has one more, after its last block. Checksums are computed in the background once the backfill is complete, and again after a restart.`,
  query: z.object({
    timestamp: timestampParameter("timestamp")
      .optional()
      .describe("Unix seconds, one of the `kept` times; default: the newest"),
  }),
  needs: { index: "complete" },
  answers: {
    200: { description: "The checksums at a time", schema },
    404: { description: "There is no checksum for this time, or not yet", schema: messageSchema },
  },
  handle: async ({ query: { timestamp }, request }, { database }: { database: Database }) => {
    const [name] = await database.row(tableSql, [], request.raw.signal);
    const values = [timestamp === undefined ? "" : String(timestamp)];
    const [text] = name ? await database.row(sql, values, request.raw.signal) : [];
    const { found, from, to } = stored.parse(JSON.parse(text ?? '{"found":null,"from":null,"to":null}'));
    if (from === null || to === null)
      throw new HttpError(
        404,
        `There is no checksum yet. The first is of the next multiple of ${checksumEvery} seconds, once the blocks of that time are final.`,
      );
    if (found === null)
      throw new HttpError(404, `There is no checksum of ${timestamp}: ask for ${from} to ${to}.`);
    return { status: 200, body: { timestamp: timestamp ?? to, ...found, kept: { from, to } } };
  },
});
