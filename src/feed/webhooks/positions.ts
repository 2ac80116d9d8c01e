import { createSql, type Statement } from "../../ponder/sql-client.ts";
import type { ReminderPlace } from "../../read/events/reminders.ts";
import type { Delivery } from "./signature.ts";

/** How far a hook is. Times are Unix milliseconds. */
export type HookState = {
  /** It goes on in the feed behind this id; undefined begins at `from`. */
  position?: string | undefined;
  from: "latest" | "start";
  /** Up to where its reminders were read. */
  reminders?: ReminderPlace | undefined;
  /** What has to be delivered next. */
  pending?: Pending | undefined;
  /** Failed attempts to deliver it, why the last one failed, and when the next one is due. */
  failures: number;
  fault?: string | undefined;
  nextAt?: number | undefined;
  /** Since when there have been messages to deliver. */
  behindSince?: number | undefined;
  paused?: { at: number; reason: string } | undefined;
};

/** A delivery of some messages, after which its hook resumes after `position`, and after `reminders` if it has some. */
export type Pending = Delivery & {
  messages: number;
  position: string | undefined;
  reminders?: ReminderPlace | undefined;
};

/** A stored state; it is saved only over its own version, which grows with each change. */
export type StoredState = { state: HookState; version: number };

// Outside of the schemas of indexes, so that a new index goes on with the states.
const table = "nsindex_webhooks.hooks";

/** The states of the hooks of a namespace. Several indexes of a namespace share them. */
export function openPositions(run: Statement, namespace: string) {
  return {
    /** Creates the table, and the rows of new hooks. */
    async prepare(hooks: readonly { name: string; from: HookState["from"] }[]): Promise<void> {
      await run(
        createSql(`CREATE SCHEMA IF NOT EXISTS nsindex_webhooks;
        CREATE TABLE IF NOT EXISTS ${table} (namespace text, name text, state jsonb NOT NULL, version bigint NOT NULL DEFAULT 1,
          deliverer text, alive_at timestamptz, PRIMARY KEY (namespace, name))`),
      );
      const states = hooks.map(({ from }) => JSON.stringify({ from, failures: 0 } satisfies HookState));
      await run(
        `INSERT INTO ${table} (namespace, name, state) SELECT $1, * FROM unnest($2::text[], $3::jsonb[]) ON CONFLICT DO NOTHING`,
        [namespace, hooks.map(({ name }) => name), states],
      );
    },
    /**
     * Takes and keeps the hooks of which no other deliverer gave a sign of life within a minute. Returns their names.
     */
    async hold(names: readonly string[], deliverer: string): Promise<ReadonlySet<string>> {
      const { rows } = await run(
        `UPDATE ${table} SET deliverer = $3, alive_at = now() WHERE namespace = $1 AND name = ANY($2::text[])
          AND (deliverer IS NULL OR deliverer = $3 OR alive_at < now() - interval '1 minute') RETURNING name`,
        [namespace, names, deliverer],
      );
      return new Set(rows.map(({ name }) => String(name)));
    },
    /** Leaves all hooks to other deliverers. */
    release(deliverer: string): Promise<unknown> {
      const sql = `UPDATE ${table} SET deliverer = NULL WHERE namespace = $1 AND deliverer = $2`;
      return run(sql, [namespace, deliverer]);
    },
    /** The state of a hook. Throws an Error if there is none. */
    async read(name: string): Promise<StoredState> {
      const sql = `SELECT state, version::int FROM ${table} WHERE namespace = $1 AND name = $2`;
      const { rows } = await run(sql, [namespace, name]);
      if (rows[0] === undefined) throw new Error(`the state of the webhook ${name} is gone`);
      return rows[0] as StoredState;
    },
    /** Replaces a state that was read. Returns the new one; undefined if it has changed meanwhile. */
    async save(name: string, { version }: StoredState, state: HookState): Promise<StoredState | undefined> {
      const { rows } = await run(
        `UPDATE ${table} SET state = $4, version = version + 1 WHERE namespace = $1 AND name = $2 AND version = $3 RETURNING name`,
        [namespace, name, version, JSON.stringify(state)],
      );
      return rows.length === 0 ? undefined : { state, version: version + 1 };
    },
  };
}

/** The stored states of hooks. */
export type Positions = ReturnType<typeof openPositions>;
