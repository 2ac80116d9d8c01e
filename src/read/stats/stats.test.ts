import { afterAll, expect, test } from "vitest";
import { createRandom, type Random } from "../../../devnet/random.ts";
import { checkpointOf } from "../../../test/support/checkpoints.ts";
import { createTestDatabase } from "../../../test/support/database.ts";
import { openLookups } from "../../../test/support/lookups/lookups.ts";
import { seeds } from "../../../test/support/rounds.ts";
import { namespaces } from "../../deployments/namespaces.ts";
import { namehash } from "../../ens/names.ts";
import { createStatusTable } from "../../operations/stored-indexes.ts";
import { indexedNamespaces } from "../names/indexed-namespaces.ts";
import { createDatabase } from "../sql/client.ts";
import { createCounting, createFigures } from "./count.ts";

// Figures of random histories that reorganize, against a plain recomputation from the list of what happened.

const client = await createTestDatabase("indexes");
afterAll(() => client.close());
const run = (text: string, values?: unknown[]) => client.query<Record<string, unknown>>(text, values);
await createStatusTable(run, "public");
await createFigures(run, "public");
const database = createDatabase(client);
const plugins = ["subgraph", "basenames", "registrars"];
const datasources = namespaces.mainnet;
const homes = indexedNamespaces(datasources, plugins);
const wrapper = homes[0]?.nameWrapper ?? "";

const day = 86_400;
const begin = Math.floor(Date.UTC(2024, 0, 30) / 1_000);
const accounts = ["11", "22", "33", "44"].map((byte) => `0x${byte.repeat(20)}`);
const registrars = [
  { chain: 1, parent: namehash("eth"), name: "eth", id: "eip155:1:0x57f1" },
  { chain: 8453, parent: namehash("base.eth"), name: "base.eth", id: "eip155:8453:0x03c4" },
] as const;

/** What happened to a name. `expires`: Unix seconds from then on; `to`: who got its token. */
type Happening = {
  at: number;
  log: number;
  name: string;
  kind: "registration" | "renewal" | "transfer" | "wrapping";
  expires: number;
  before: number;
  to: string;
  price: number;
  premium: number;
};

const registrarOf = (name: string) => registrars[name.endsWith(".base.eth") ? 1 : 0];
const chainOf = (name: string) => registrarOf(name).chain;

// One that contracts allow: names are registered once their former registration is over, and renewed from then on.
function next(random: Random, history: readonly Happening[], at: number): Happening {
  const label = `n${random.below(12)}`;
  const name = random.below(3) === 0 ? `${label}.base.eth` : `${label}.eth`;
  const own = history.filter((one) => one.name === name);
  const last = own.at(-1);
  const before = last?.expires ?? 0;
  const canRenew = last !== undefined && before + 5 * day > at;
  const kinds = canRenew
    ? (["renewal", "renewal", "transfer", "wrapping"] as const)
    : (["registration"] as const);
  const kind = random.pick(kinds);
  const moves = kind === "registration" || kind === "renewal";
  const duration = random.below(12) * day + random.below(day);
  const holder = random.pick(accounts);
  return {
    ...{ at, log: history.length, name, kind, before },
    expires: !moves ? before : kind === "registration" ? at + duration : before + duration,
    to: kind === "renewal" ? (last?.to ?? "") : holder,
    price: random.below(2) * (1 + random.below(1_000)),
    premium: kind === "registration" ? random.below(3) * random.below(50) : 0,
  };
}

async function store(one: Happening) {
  const { at, log, name, kind, expires, before, to, price, premium } = one;
  const { id: subregistry, parent, chain } = registrarOf(name);
  const node = namehash(name);
  const eventId = `${chain}-${at}-${log}`;
  await run(
    `INSERT INTO domain (id, name, parent_id, subdomain_count, is_migrated, created_at, owner_id, change_block)
      VALUES ($1, $2, $3, 0, true, 1, $1, 1) ON CONFLICT DO NOTHING`,
    [node, name, parent],
  );
  await run(
    `INSERT INTO registration (id, domain_id, registration_date, expiry_date, registrant_id, change_block)
      VALUES ($1, $1, $2, $3, $4, 1) ON CONFLICT DO NOTHING`,
    [node, at, expires, to],
  );
  if (kind === "registration" || kind === "renewal")
    await run(
      `INSERT INTO registrar_actions (id, type, subregistry_id, node, incremental_duration, registrant, block_number, timestamp,
        transaction_hash, event_ids, base_cost, premium, total) VALUES ($1, $2, $3, $4, $5, '0x', 1, $6, sha256('1'), ARRAY[$1::text], $7, $8, $9)`,
      [
        checkpointOf({ number: at, timestamp: at, logIndex: log }, chain),
        ...[kind, subregistry, node, kind === "renewal" ? expires - before : expires - at, at],
        // Not every controller tells prices.
        ...(price === 0 ? [null, null, null] : [price, premium, price + premium]),
      ],
    );
  if (kind === "renewal") return;
  if (kind === "wrapping")
    await run(
      `INSERT INTO domain_event (id, type, block_number, timestamp, log_index, transaction_id, domain_id, owner_id)
        VALUES ($1, 'NameWrapped', $2, $2, $3, sha256('1'), $4, $5)`,
      [eventId, at, log, node, to],
    );
  await run(
    `INSERT INTO registration_event (id, type, block_number, timestamp, log_index, transaction_id, registration_id, registrant_id, new_owner_id)
      VALUES ($1, $2, $3, $3, $4, sha256('1'), $5, $6, $7)`,
    [
      ...[eventId, kind === "registration" ? "NameRegistered" : "NameTransferred", at, log, node],
      kind === "registration" ? to : null,
      kind === "registration" ? null : kind === "wrapping" ? wrapper : to,
    ],
  );
}

const takeBack = async (time: number) => {
  for (const table of ["registrar_actions", "registration_event", "domain_event"])
    await run(`DELETE FROM ${table} WHERE timestamp >= $1`, [time]);
};

async function reach(time: number, final: number) {
  await run("DELETE FROM _ponder_checkpoint");
  for (const { chain, name } of registrars)
    await run("INSERT INTO _ponder_checkpoint VALUES ($1, $2, $3, $3, $4)", [
      ...[name, chain, checkpointOf({ number: time, timestamp: time }, chain)],
      checkpointOf({ number: final, timestamp: final }, chain),
    ]);
}

const dateOf = (time: number) => new Date(time * 1_000).toISOString().slice(0, 10);
const startOf = (time: number, interval: string) => {
  const date = new Date(Math.floor(time / day) * day * 1_000);
  if (interval === "week") date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7));
  if (interval === "month") date.setUTCDate(1);
  return date.getTime() / 1_000;
};

type Row = Record<string, unknown>;

/** The figures of a period from the list alone. `end`: of the period. */
function recompute(history: readonly Happening[], [start, end]: [number, number]): Record<string, Row> {
  const actions = history.filter(({ kind }) => kind === "registration" || kind === "renewal");
  const within = (time: number) => time >= start && time < end;
  const of = (kind: string) => actions.filter((one) => one.kind === kind && within(one.at));
  const paid = actions.filter((one) => within(one.at) && one.price > 0);
  const sold = paid.filter(({ kind, premium }) => kind === "registration" && premium > 0);
  const followed = (one: Happening) =>
    actions.find((other) => other.name === one.name && other.log > one.log);
  const total = (list: number[]) => String(list.reduce((sum, one) => sum + one, 0));
  const names = [...new Set(history.map(({ name }) => name))];
  const lastBefore = (list: readonly Happening[], name: string) =>
    list.filter((one) => one.name === name && one.at < end).at(-1);
  const received = history.filter(({ kind }) => kind !== "renewal");
  const due = actions.filter(({ expires }) => within(expires));
  return {
    registrations: { registrations: of("registration").length },
    renewals: { renewals: of("renewal").length },
    revenue: { amount: total(paid.map(({ price, premium }) => price + premium)) },
    "premium-sales": { sales: sold.length, amount: total(sold.map(({ premium }) => premium)) },
    "active-names": {
      names: names.filter((name) => (lastBefore(actions, name)?.expires ?? 0) >= end).length,
    },
    // It reached its expiry before anything moved that.
    expiries: {
      expiries: actions.filter((one) => {
        const moved = followed(one)?.at ?? Number.POSITIVE_INFINITY;
        const ended = Math.max(one.expires, one.at);
        return within(ended) && moved >= one.expires;
      }).length,
    },
    "renewal-rate": {
      due: due.length,
      renewed: due.filter((one) => followed(one)?.kind === "renewal").length,
    },
    holders: { holders: new Set(names.flatMap((name) => lastBefore(received, name)?.to ?? [])).size },
  };
}

async function compare(history: readonly Happening[], time: number, interval: string) {
  const { get, logged } = openLookups({ database, datasources, plugins, time, block: time });
  const until = time + 20 * day;
  for (const { query, list } of [
    { query: "", list: history },
    { query: "&parent=base.eth", list: history.filter(({ name }) => chainOf(name) === 8453) },
    { query: "&chain_id=1", list: history.filter(({ name }) => chainOf(name) === 1) },
  ])
    for (const metric of Object.keys(recompute([], [0, 1]))) {
      const last = metric === "expiries" ? until : time;
      const { status, data } = await get<Row[]>(
        `/v1/stats/${metric}?interval=${interval}&from=${dateOf(begin)}&to=${last}${query}`,
      );
      expect(status).toBe(200);
      const found = new Map(data.map(({ date, currency, rate, ...row }) => [date, row]));
      const expected = new Map<string, Row>();
      for (let start = startOf(begin, interval); start <= last; ) {
        const following = startOf(
          start + (interval === "day" ? 1 : interval === "week" ? 7 : 31) * day,
          interval,
        );
        // Days begin before the first one of the history: nothing happened then.
        const row = recompute(list, [start, following])[metric] ?? {};
        const isEmpty = data.length === 0 && Object.values(row).every((one) => Number(one) === 0);
        if (!isEmpty) expected.set(dateOf(start), row);
        start = following;
      }
      expect(Object.fromEntries(found), `${metric} ${interval}${query}`).toEqual(
        Object.fromEntries(expected),
      );
    }
  expect(logged).toEqual([]);
}

test.each(seeds)("figures equal a plain recomputation, with reorganizations: history %i", async (seed) => {
  const tables = [
    "domain",
    "registration",
    "registrar_actions",
    "registration_event",
    "domain_event",
    "subregistries",
  ];
  for (const table of [...tables, "_indexing_status"]) await run(`DELETE FROM ${table}`);
  for (const { id, parent } of registrars)
    await run("INSERT INTO subregistries VALUES ($1, $2)", [id, parent]);
  const random = createRandom(seed);
  // Two processes, as when one was killed whose statement goes on.
  const both = [1, 2].map(() => createCounting({ run, schema: "public", namespaces: homes }));
  let history: Happening[] = [];
  let [time, final] = [begin, begin];
  for (let step = 0; step < 6; step++) {
    for (let more = 5 + random.below(15); more > 0; more--) {
      time += random.below(random.pick([3, 100, day, 4 * day]));
      const one = next(random, history, time);
      history.push(one);
      await store(one);
    }
    if (step % 2 === 1) {
      // What is not final is reverted, as far as to the second of the last final block: another chain may add to it,
      // too.
      time = final + random.pick([0, random.below(time - final + 1)]);
      await takeBack(time);
      history = history.filter(({ at }) => at < time);
    }
    // Counted several times within a day, at the seconds of events and after them.
    const newest = final + random.below(time - final + 1);
    const seconds = history.flatMap(({ at }) => [at, at + 1]).filter((at) => at >= final && at <= newest);
    const finals = [1, 2, 3, 4].map(() => random.pick([final, ...seconds]));
    for (final of finals.sort((a, b) => a - b)) {
      await reach(time, final);
      while ((await Promise.all(both.map((count) => count()))).includes(true));
    }
    await compare(history, time, random.pick(["day", "week", "month"]));
  }
  await compare(history, time, "day");
});
