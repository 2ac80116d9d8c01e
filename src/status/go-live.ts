import type { Registry } from "prom-client";
import type { Hex } from "viem";
import type { Log } from "../log/json-log.ts";
import { repeat } from "../operations/repeat.ts";
import { addGauge } from "../ponder/gauge.ts";
import type { Database } from "../read/sql/client.ts";

/** Since when ENSv2 registers names: the block and its time (Unix seconds). */
export type GoLive = { block: number; timestamp: number };

// CAN_REGISTER has the lowest four bits (src/ens/roles.ts). Roles on a whole registry have no labelhash.
const goLiveSql = `
SELECT json_agg(json_build_object('block', block_number, 'timestamp', timestamp, 'isOpen', right(roles, 1) <> '0') ORDER BY timestamp DESC, id DESC)::text
FROM (
  SELECT * FROM v2_events WHERE registry = $2 AND labelhash IS NULL AND chain_id = $1::int AND type = 'RootPermissionChanged' AND holder = $3
  ORDER BY timestamp DESC, id DESC LIMIT 100
) e`;

/** Reads since when the .eth registrar of ENSv2 may register names in the registry; undefined while it may not. */
export async function readGoLive(
  database: Database,
  { chainId, ethRegistry, registrar }: { chainId: number; ethRegistry: Hex; registrar: Hex },
  signal: AbortSignal,
): Promise<GoLive | undefined> {
  const [text] = await database.row(goLiveSql, [String(chainId), ethRegistry, registrar], signal);
  const changes = JSON.parse(text ?? "[]") as (GoLive & { isOpen: boolean })[];
  const closed = changes.findIndex(({ isOpen }) => !isOpen);
  const first = (closed < 0 ? changes : changes.slice(0, closed)).at(-1);
  return first && { block: first.block, timestamp: first.timestamp };
}

const everyMs = 15_000;

/**
 * Watches for the go-live of ENSv2, logs it, and counts it in a metric. Without `read`, where ENSv2 is not indexed, the
 * metric is 0. `current`: null before the go-live, undefined while unknown.
 */
export function watchGoLive(
  read: ((signal: AbortSignal) => Promise<GoLive | undefined>) | undefined,
  { log, registry }: { log: Log; registry: Registry | undefined },
): { current: () => GoLive | null | undefined; stop: () => void } {
  let found: GoLive | null | undefined;
  const look = async () => {
    const before = found;
    found = read && ((await read(AbortSignal.timeout(5_000))) ?? null);
    if (found && !before)
      log("info", `ENSv2 is live: its registrar may register names under .eth since block ${found.block}.`);
    if (before && !found) log("info", "ENSv2's registrar may no longer register names under .eth.");
    return read === undefined ? "done" : undefined;
  };
  const help = "1 once the registrar of ENSv2 may register names under .eth";
  addGauge(registry, { name: "nsindex_ensv2_live", help }, (gauge) => gauge.set(found ? 1 : 0));
  const pause = (round: number) => (round === 0 ? 1_000 : everyMs);
  const stop = repeat(look, { everyMs: pause, log, failure: "Could not read whether ENSv2 is live" });
  return { current: () => found, stop };
}
