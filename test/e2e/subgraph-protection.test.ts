import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEndpoint } from "../support/subgraph/endpoint.ts";
import { createGeneratedDatabase } from "../support/subgraph/generated-database.ts";

let generated: Awaited<ReturnType<typeof createGeneratedDatabase>>;
beforeAll(async () => {
  generated = await createGeneratedDatabase(10_000);
});
afterAll(() => generated?.close());

// Hundreds of substring searches over all names: minutes of work if nothing stops it.
const slow = `{ domains(where: { or: [${Array.from({ length: 900 }, (_, i) => `{ name_contains_nocase: "a${i}%b%c" }`).join(", ")}] }) { id } }`;
const body = JSON.stringify({ query: slow });
const post = { method: "POST", headers: { "content-type": "application/json" }, body };

async function running(): Promise<number> {
  const { rows } = await generated.run(
    "SELECT count(*)::int AS count FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND query LIKE '%FROM _ponder_checkpoint%'",
  );
  return Number(rows[0]?.["count"]);
}

async function listen(limits: Parameters<typeof createEndpoint>[1]) {
  const { app: subgraph } = createEndpoint(generated.client, limits);
  const app = new Hono().get("/quick", (c) => c.json({})).route("/subgraph", subgraph);
  const server = serve({ fetch: app.fetch, port: 0 });
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

test("stops a statement on the server once its time is up", async ({ skip }) => {
  if (!generated.isServer) skip("needs a Postgres server: in memory, statements cannot be stopped");
  const { post: ask } = createEndpoint(generated.client, { timeoutMs: 200 });
  const { errors } = await (await ask(body)).json();
  expect(errors[0].message).toMatch(/^Query timed out after 200 ms/);
  await expect.poll(running).toBe(0);
});

test("waits for a table that a reorg has locked, longer than Ponder's connections do", async ({ skip }) => {
  const { client } = generated;
  if (!("connect" in client)) return skip("needs a Postgres server: in memory, there is one session");
  const { ask } = createEndpoint(client);
  const reorg = await client.connect();
  await reorg.query({ text: "BEGIN; LOCK TABLE domain IN ACCESS EXCLUSIVE MODE" });
  const answer = ask("{ domains(first: 1) { id } }");
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  await reorg.query({ text: "COMMIT" });
  reorg.release();
  expect((await answer).data?.["domains"]).toHaveLength(1);
});

test("stops a statement on the server once its client has gone", async ({ skip }) => {
  if (!generated.isServer) skip("needs a Postgres server: in memory, statements cannot be stopped");
  const { url, close } = await listen({ timeoutMs: 60_000 });
  const leaving = new AbortController();
  const gone = fetch(`${url}/subgraph`, { ...post, signal: leaving.signal });
  gone.catch(() => undefined); // Awaited below, after the statement was seen to run.
  await expect.poll(running).toBe(1);
  leaving.abort();
  await expect(gone).rejects.toThrow();
  await expect.poll(running).toBe(0);
  close();
});

test("under a load of slow queries other routes respond, and 503 is returned beyond the queue", async ({
  skip,
}) => {
  if (!generated.isServer)
    skip("needs a Postgres server: in memory, one query at a time runs on the same thread");
  const { url, close } = await listen({ timeoutMs: 3_000, concurrency: 3, slow: 0, queue: 6 });
  const load = Array.from({ length: 20 }, async (_, place) => {
    const own = { ...post, body: body.replace("a0%", `a0%${place}%`) };
    return (await fetch(`${url}/subgraph`, own)).status;
  });
  const times: number[] = [];
  for (let i = 0; i < 40; i++) {
    const started = performance.now();
    expect((await fetch(`${url}/quick`)).status).toBe(200);
    times.push(performance.now() - started);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const statuses = await Promise.all(load);
  expect(statuses.filter((status) => status === 503)).toHaveLength(11);
  expect(statuses.filter((status) => status === 200)).toHaveLength(9);
  times.sort((a, b) => a - b);
  expect(times[36]).toBeLessThan(250);
  close();
});
