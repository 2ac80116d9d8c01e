import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod/v4";
import { labelhash, normalizeLabelhash } from "../../src/ens/labels.ts";
import { startServer } from "../../test/support/labels/running-server.ts";
import { digestOpenApi } from "../../test/support/openapi-digest.ts";
import { buildLabelsDocument, endpoints, labelhashSchema } from "./openapi.ts";

let server: Awaited<ReturnType<typeof startServer>>;

beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

test("the document is frozen", async () => {
  const digest = digestOpenApi(buildLabelsDocument("1.2.3"));
  await expect(digest).toMatchFileSnapshot("../../test/fixtures/openapi-labels.txt");
});

test("states exactly the accepted spellings of a labelhash", () => {
  const digits = fc.stringMatching(/^[0-9a-fA-Fg]{62,65}$/);
  const spelling = fc
    .tuple(fc.constantFrom("", "["), fc.constantFrom("", "0x", "0X"), digits, fc.constantFrom("", "]"))
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.oneof(spelling, fc.string()), (text) => {
      expect(labelhashSchema.safeParse(text).success).toBe(normalizeLabelhash(text) !== undefined);
    }),
    { numRuns: 1000 },
  );
});

/** Sends a request and checks status, content type and body against the document. */
async function expectDocumented(
  method: "get" | "post",
  path: string,
  status: number,
  url: string,
  init?: RequestInit,
) {
  const asked = await server.ask(url, { ...init, method: method.toUpperCase() });
  expect(asked.status).toBe(status);
  const documented = endpoints.find((one) => one.method === method && one.path === path)?.answers[status];
  const schema = documented?.content?.[asked.type?.split(";")[0] ?? ""];
  expect(schema && z.parse(schema, asked.body)).toEqual(asked.body);
}

const eth = labelhash("eth");
const heal = "/v1/heal/{labelhash}";
const information = ["/v1/labels/count", "/v1/config", "/v1/version", "/ready"];
const list = (labelhashes: unknown[], more = {}) => ({ body: JSON.stringify({ labelhashes, ...more }) });

describe("responses are as documented", () => {
  test("before a database is attached", async () => {
    for (const path of information) await expectDocumented("get", path, 503, path);
    await expectDocumented("get", heal, 503, `/v1/heal/${eth}`);
    await expectDocumented("post", "/v1/heal", 503, "/v1/heal", list([eth]));
    for (const path of ["/health", "/metrics"]) await expectDocumented("get", path, 200, path);
  });

  test("with a database", async () => {
    server.database.reload({ isForced: true });
    for (const path of [...information, "/health", "/metrics"])
      await expectDocumented("get", path, 200, path);
    await expectDocumented("get", heal, 200, `/v1/heal/${eth}?label_set_id=ens-test-env&label_set_version=0`);
    await expectDocumented("get", heal, 404, `/v1/heal/${labelhash("unknown")}`);
    await expectDocumented("get", heal, 400, "/v1/heal/nonsense");
    await expectDocumented("get", heal, 400, `/v1/heal/${eth}?label_set_version=0`);
    await expectDocumented("get", heal, 400, `/v1/heal/${eth}?label_set_id=subgraph`);
  });

  test("to lists", async () => {
    const unknown = labelhash("unknown");
    await expectDocumented("post", "/v1/heal", 200, "/v1/heal", list([eth, unknown]));
    await expectDocumented("post", "/v1/heal", 200, "/v1/heal", {
      ...list([eth, unknown]),
      headers: { accept: "application/x-ndjson" },
    });
    await expectDocumented("post", "/v1/heal", 400, "/v1/heal", list(["nonsense"]));
    await expectDocumented("post", "/v1/heal", 400, "/v1/heal", list([eth], { label_set_id: 1 }));
    await expectDocumented("post", "/v1/heal", 413, "/v1/heal", { body: " ".repeat(1024 * 1024 + 1) });
    const long = labelhash("x".repeat(120_000));
    await expectDocumented("post", "/v1/heal", 413, "/v1/heal", list(new Array(300).fill(long)));
  });
});

describe("GET /openapi.json", () => {
  test("is the document, with or without a database", async () => {
    const { status, type, body } = await server.ask("/openapi.json");
    expect([status, type]).toEqual([200, "application/json"]);
    expect(body).toEqual(JSON.parse(JSON.stringify(buildLabelsDocument("0.1.0"))));
    const other = await startServer();
    expect((await other.ask("/openapi.json")).body).toEqual(body);
    await other.stop();
  });

  test("behaves like other paths outside /v1", async () => {
    const head = await fetch(`${server.base}/openapi.json`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect(head.headers.get("access-control-allow-origin")).toBeNull();
    expect((await server.ask("/openapi.json", { method: "POST" })).status).toBe(404);
    expect((await server.ask("/openapi.json/")).status).toBe(404);
    expect((await server.ask("/metrics")).body).toContain(
      'labels_requests_total{route="openapi",outcome="ok"} 2',
    );
  });
});
