import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { postgresPrograms, startPostgres } from "../support/postgres.ts";
import { startWorld, type World } from "../support/world.ts";

const programs = postgresPrograms();
const query = { query: "{ domains(first: 1) { id } }" };
const post = {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(query),
};

/** Status and body of every path, asked at once. */
async function askAll(url: string) {
  const paths: [string, RequestInit?][] = [
    ["/health"],
    ["/metrics"],
    ["/ready"],
    ["/status"],
    ["/api/config"],
    ["/api/indexing-status"],
    [`/subgraph?${new URLSearchParams(query)}`],
    ["/subgraph", post],
  ];
  const replies = await Promise.all(
    paths.map(async ([path, init]) => {
      const response = await fetch(`${url}${path}`, { ...init, signal: AbortSignal.timeout(120_000) });
      const body = await response.text();
      const name = `${init?.method ?? "GET"} ${path.split("?")[0]}`;
      return [name, { status: response.status, body }] as const;
    }),
  );
  return Object.fromEntries(replies);
}

const away = { message: "The database does not respond.", details: "Try again in some seconds." };
const needing = ["GET /ready", "GET /status", "GET /subgraph", "POST /subgraph"];

async function expectRefusals(url: string) {
  const replies = await askAll(url);
  for (const name of needing) {
    const { status, body } = replies[name]!;
    expect([name, status, JSON.parse(body)]).toEqual([name, 503, away]);
  }
  for (const name of ["GET /health", "GET /metrics", "GET /api/config"])
    expect([name, replies[name]?.status]).toEqual([name, 200]);
  for (const { body } of Object.values(replies)) {
    expect(body).not.toMatch(/node_modules|\n\s+at |\.(js|ts):\d+|postgres(ql)?:\/\//);
  }
}

async function expectService(world: World) {
  await world.waitFor("every path to respond again", async () => {
    const replies = await askAll(world.url).catch(() => undefined);
    const statuses = needing.map((name) => replies?.[name]?.status);
    return statuses.every((status) => status === 200) ? { done: true } : { state: statuses.join() };
  });
}

describe.skipIf(programs === undefined)("while Postgres is away", () => {
  let postgres: Awaited<ReturnType<typeof startPostgres>>;
  let world: World;

  beforeAll(async () => {
    postgres = await startPostgres(programs ?? "");
    const environment = { DATABASE_URL: postgres.url, DATABASE_SCHEMA: "names" };
    world = await startWorld({ head: 300, database: "embedded", environment });
    world.start();
    await world.waitForIndex();
  });
  afterAll(async () => {
    await world?.close();
    await postgres?.stop();
  });

  test("because it hangs, every path responds within two seconds, and again as before when it goes on", async () => {
    await expectService(world);
    const release = await postgres.freeze();
    try {
      await expectRefusals(world.url);
      await expectRefusals(world.url);
    } finally {
      release();
    }
    await expectService(world);
  });

  test("because it ended, every path responds within two seconds, and again as before when it is back", async () => {
    await postgres.halt();
    try {
      await expectRefusals(world.url);
      await expectRefusals(world.url);
    } finally {
      await postgres.resume();
    }
    await expectService(world);
  });
});
