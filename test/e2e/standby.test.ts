import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readDeployment, register } from "../../devnet/life.ts";
import { chainIds } from "../../devnet/recorded-chains.ts";
import { waitFor } from "../../devnet/wait.ts";
import { type FeedMessage, fold, listed, messagesOf, openReader } from "../support/feed.ts";
import { randomOf } from "../support/feed-history.ts";
import { query as rowsOf, startPostgres } from "../support/postgres.ts";
import { startWorld, type World } from "../support/world.ts";

// One primary with the indexer, two hot standbys, and readers that know the standbys alone; servers that lag, hang and
// end.

const settings = ["fsync=off", "wal_level=replica", "max_wal_senders=8", "max_connections=200"];
// What is replayed cancels at once what reads the same; every statement is logged.
const hasty = [
  "max_standby_streaming_delay=0",
  "logging_collector=on",
  "log_statement=all",
  "log_rotation_size=0",
];
const chain = String(chainIds.root);
const sale = { owner: `0x${"11".repeat(20)}`, expires: 2_000_000_000n } as const;

type Server = Awaited<ReturnType<typeof startPostgres>>;
type Reader = Awaited<ReturnType<World["startBeside"]>>;

const ask = async (url: string, text: string) => {
  const response = await fetch(`${url}/subgraph`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: text }),
  });
  return { response, body: await response.text() };
};

/**
 * Asks a reader for its block in both APIs until it is stopped; gives what was not answered, and whether a block went
 * back.
 */
function keepAsking(url: string) {
  const failures: string[] = [];
  const lost = new Set<number>();
  const newest = { subgraph: 0, v1: 0 };
  let [isOpen, requests, wentBack] = [true, 0, 0];
  const note = (api: keyof typeof newest, number: number) => {
    if (number < newest[api]) wentBack += 1;
    newest[api] = number;
  };
  const client = async () => {
    while (isOpen) {
      const asked = await ask(url, "{ _meta { block { number } } registrations(first: 2) { id } }");
      if (asked.response.status === 200 && !asked.body.includes('"errors"'))
        note("subgraph", JSON.parse(asked.body).data._meta.block.number);
      const listed = await fetch(`${url}/v1/search?q=standby`);
      const text = await listed.text();
      if (listed.status === 200) note("v1", JSON.parse(text).meta.as_of[chain].block_number);
      for (const [{ status, headers }, body] of [
        [asked.response, asked.body] as const,
        [listed, text] as const,
      ])
        if (status === 503 && headers.has("retry-after")) lost.add(status);
        else if (status !== 200) failures.push(`${status} ${body}`);
      requests += 2;
      await setTimeout(20);
    }
  };
  const done = client();
  return {
    requests: () => requests,
    stop: async () => {
      isOpen = false;
      await done;
      return { failures, wentBack, lost: [...lost] };
    },
  };
}

/** What a client holds that reads `/v1/events` page by page behind a message. */
async function paged(url: string, first: FeedMessage): Promise<Map<string, unknown>> {
  const held = new Map<string, unknown>();
  fold(held, first);
  for (let after = first.id; ; ) {
    const response = await fetch(`${url}/v1/events?page_size=200&after=${after}`);
    const { data, reverted, page } = (await response.json()) as {
      data: FeedMessage["data"][];
      reverted: object[];
      page: { has_more: boolean; next_cursor: string };
    };
    for (const one of reverted) fold(held, { event: "reverted", id: "", data: { id: "", ...one } });
    for (const one of data) fold(held, { event: "event", id: "", data: one });
    if (!page.has_more) return held;
    after = page.next_cursor;
  }
}

const anyQuery = { query: "{ domains(first: 1) { id } }" };
const post = {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(anyQuery),
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
    [`/subgraph?${new URLSearchParams(anyQuery)}`],
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

describe("readers on hot standbys", () => {
  let [primary, near, far] = [] as unknown as [Server, Server, Server];
  let world: World;
  let reader: Reader;
  const place = (server: Server) => new URL(server.url).host;
  const says = (text: string) =>
    waitFor(text, async () => {
      const lines = reader.lastLines(500);
      const found = lines.find((line) => line.includes(text));
      return found === undefined ? { state: lines.slice(-5).join("\n") } : { done: found };
    });
  let count = 0;
  const mine = (blocks: number) => {
    for (let block = 0; block < blocks; block++, count++)
      world.node.mineBlock({
        transactions: [register(readDeployment("root"), { ...sale, label: `standby${count}` })],
      });
  };
  const reaches = (url: string, number: number) =>
    waitFor(`block ${number}`, async () => {
      const { body } = await ask(url, "{ _meta { block { number } } }");
      return body.includes(`"number":${number}}`) ? { done: body } : { state: body };
    });
  /** Conflicts with replay cancel also what a test asks of a standby. */
  const persist = (server: Server, text: string) =>
    waitFor(text, async () => ({ done: await rowsOf<Record<string, string>>(server.url, text) }));

  const pause = (server: Server) =>
    waitFor("a pause", async () => {
      await rowsOf(server.url, "SELECT pg_wal_replay_pause()");
      const [row] = await rowsOf<{ state: string }>(
        server.url,
        "SELECT pg_get_wal_replay_pause_state() AS state",
      );
      return row?.state === "paused" ? { done: true } : { state: row?.state ?? "" };
    });
  const resume = (server: Server) => persist(server, "SELECT pg_wal_replay_resume()");

  beforeAll(async () => {
    primary = await startPostgres(settings);
    near = await startPostgres([...settings, ...hasty], primary.url);
    far = await startPostgres([...settings, ...hasty], primary.url);
    const environment = {
      DATABASE_SCHEMA: "names_v1",
      ...{ SUBGRAPH_COMPAT: "false", PLUGINS: "subgraph,registrars" },
    };
    world = await startWorld({ head: 400, databaseUrl: primary.url, environment });
    world.start();
    await world.waitForIndex();
    reader = await world.startBeside("serve", {
      DATABASE_URL: "",
      DATABASE_READ_URLS: `${near.url},${far.url}`,
      DATABASE_READ_LAG_SECONDS: "2",
    });
    await reaches(reader.url, world.node.chain.head());
    // The list that prefers the first is settled.
    await waitFor("the reader at the near standby", async () => {
      const rows = await persist(
        near,
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'names_v1_readonly'",
      );
      return Number(rows[0]?.["count"]) > 1 ? { done: rows } : { state: JSON.stringify(rows) };
    });
  });
  afterAll(async () => {
    await reader?.stop("SIGINT");
    await world?.close();
    for (const server of [far, near, primary]) await server?.stop();
  });

  test("a standby that is killed is left for the other one, and comes back", async () => {
    const asking = keepAsking(reader.url);
    mine(2);
    await near.halt();
    mine(2);
    await reaches(reader.url, world.node.chain.head());
    await says(`Now reading from ${place(far)}: ${place(near)} does not respond.`);
    await near.resume();
    await says(`Now reading from ${place(near)}: ${place(far)} is listed after it.`);
    mine(2);
    await reaches(reader.url, world.node.chain.head());
    const before = asking.requests();
    await waitFor("more requests", async () =>
      asking.requests() > before + 20 ? { done: true } : { state: `${asking.requests()}` },
    );
    const { failures, wentBack } = await asking.stop();
    expect({ failures, wentBack }).toEqual({ failures: [], wentBack: 0 });
  });

  test("a standby that lags is left, and waited for by min_block", async () => {
    const asking = keepAsking(reader.url);
    await pause(near);
    await says(`Now reading from ${place(far)}: ${place(near)} is behind.`);
    await pause(far);
    const former = world.node.chain.head();
    mine(1);
    await world.waitForIndex();
    const head = former + 1;
    const named = (path: string) => fetch(`${reader.url}${path}min_block=${chain}:${head}`);
    const paths = [
      "/v1/names/standby0.eth?",
      "/v1/search?q=standby&",
      "/api/registrar-actions?",
      "/api/name-tokens?name=standby0.eth&",
    ];
    for (const path of paths.slice(0, 3)) {
      const refused = await named(path);
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
      expect(await refused.text()).toContain(`Block ${head} of chain ${chain} is not indexed here yet.`);
    }
    const v1 = (await (await named("/v1/names/standby0.eth?")).json()) as object;
    expect(v1).toMatchObject({ error: { code: "stale", details: {} } });
    const min = `{ registrations(first: 1, block: { number_gte: ${head} }) { id } _meta { block { number } } }`;
    expect((await ask(reader.url, min)).body).toContain(
      `has only indexed up to block number ${former} and data for block number ${head} is therefore not yet available`,
    );
    // What waits is answered as soon as the block is there.
    const waiting = waitFor("an answer", async () => {
      const response = await named("/v1/names/standby0.eth?");
      return response.status === 200 ? { done: await response.json() } : { state: String(response.status) };
    });
    await resume(far);
    const answer = (await waiting) as {
      meta: { as_of: Record<string, { block_number: number }>; as_of_token: string };
    };
    expect(answer.meta.as_of[chain]?.block_number).toBe(head);
    expect(JSON.parse((await ask(reader.url, min)).body).data._meta.block.number).toBe(head);
    const token = await fetch(`${reader.url}/v1/names/standby0.eth?min_block=${answer.meta.as_of_token}`);
    expect(token.status).toBe(200);
    expect((await fetch(`${reader.url}/v1/search?q=a&min_block=5:1`)).status).toBe(400);
    expect((await fetch(`${reader.url}/v1/search?q=a&min_block=x`)).status).toBe(400);
    await resume(near);
    const { failures, wentBack } = await asking.stop();
    expect({ failures, wentBack }).toEqual({ failures: [], wentBack: 0 });
  });

  test("a standby that hangs is left", async () => {
    await waitFor("the reader at the near standby", async () => {
      const moves = reader.lastLines(500).filter((line) => line.includes("Now reading from "));
      return moves.at(-1)?.includes(`from ${place(near)}:`) ? { done: true } : { state: moves.join("\n") };
    });
    const goOn = await near.freeze();
    mine(1);
    await reaches(reader.url, world.node.chain.head());
    goOn();
  });

  test("a stream of the reader stands still while the standbys do, and goes on with what was reorganized meanwhile", async () => {
    const client = openReader(() => [reader.url], "from=start", { random: randomOf(7), max: 20 });
    const entriesOf = (entries: Map<string, unknown>) => JSON.stringify([...entries].sort());
    const untilHeld = async (expected: Map<string, unknown>) =>
      waitFor("the client to hold what is listed", async () =>
        entriesOf(client.held) === entriesOf(expected)
          ? { done: true }
          : { state: `${client.held.size} of ${expected.size} entries; ${reader.lastLines(5).join(" ")}` },
      );
    mine(4);
    await world.waitForIndex();
    const before = await listed(world.url);
    await untilHeld(before);

    for (const server of [near, far]) await pause(server);
    world.node.chain.setHead(world.node.chain.head() - 3);
    mine(5);
    await world.waitForIndex();
    const after = await listed(world.url);
    const isGone = ([id, entry]: [string, unknown]) =>
      JSON.stringify(after.get(id)) !== JSON.stringify(entry);
    expect([...before].filter(isGone)).not.toEqual([]);
    expect(entriesOf(await listed(reader.url))).toBe(entriesOf(before));
    expect(entriesOf(client.held)).toBe(entriesOf(before));

    for (const server of [near, far]) await resume(server);
    let isHeld = false;
    const statuses = new Set<number>();
    const reading = (async () => {
      do statuses.add((await fetch(`${reader.url}/v1/events?page_size=200`)).status);
      while (!isHeld);
    })();
    await untilHeld(after);
    isHeld = true;
    await reading;
    // What is cancelled again and again is to be asked later.
    expect([...statuses].filter((status) => status !== 503)).toEqual([200]);
    expect(client.counts.reverted).toBeGreaterThan(0);
    await client.stop();

    await waitFor("pages to have what is listed", async () => {
      const stream = await fetch(`${reader.url}/v1/events/stream?from=start`);
      for await (const first of messagesOf(stream))
        if (entriesOf(await paged(reader.url, first)) === entriesOf(after)) return { done: true };
        else break;
      return { state: "they differ" };
    });
  });

  test.each<[string, () => Promise<() => unknown>]>([
    ["hangs", () => primary.freeze()],
    [
      "ended",
      async () => {
        await primary.halt();
        return () => primary.resume();
      },
    ],
  ])(
    "while the primary %s, every path of the indexer responds, and again as before when it is back",
    async (_, leave) => {
      const expectService = () =>
        world.waitFor("every path to respond", async () => {
          const replies = await askAll(world.url).catch(() => undefined);
          const statuses = needing.map((name) => replies?.[name]?.status);
          return statuses.every((status) => status === 200) ? { done: true } : { state: statuses.join() };
        });
      await expectService();
      const comeBack = await leave();
      try {
        await expectRefusals(world.url);
        await expectRefusals(world.url);
      } finally {
        await comeBack();
      }
      await expectService();
    },
  );

  test("nothing is written, listened to or locked on a standby, and a start names what is wrong", async () => {
    for (const server of [near, far]) {
      const [{ log = "" } = {}] = await persist(server, "SELECT pg_read_file(pg_current_logfile()) AS log");
      expect(log).toContain("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY");
      const statements = log.split("\n").filter((line) => /statement:|execute /.test(line));
      expect(statements.length).toBeGreaterThan(20);
      const writes =
        /(statement|execute [^:]*):\s*(INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|LISTEN|NOTIFY|LOCK)\b|advisory/i;
      expect(statements.filter((line) => writes.test(line))).toEqual([]);
      expect(log).not.toMatch(/read-only transaction|during recovery/);
    }
    const other = await startPostgres(settings);
    const refused = await world.startBeside("serve", { DATABASE_READ_URLS: `${near.url},${other.url}` });
    expect((await refused.ended).code).toBe(78);
    expect(refused.lastLines(20).join("\n")).toContain(
      `DATABASE_READ_URLS names servers of several database systems: ${place(other)} and ${place(near)}`,
    );
    await other.stop();
    const lonely = await world.startBeside("serve", { DATABASE_READ_URLS: other.url });
    await waitFor("a message", async () => {
      const lines = lonely.lastLines(20).join("\n");
      return lines.includes(`No server of DATABASE_READ_URLS responds: ${place(other)} (`)
        ? { done: lines }
        : { state: lines };
    });
    await lonely.stop("SIGINT");
    const some = await world.startBeside("serve", { DATABASE_READ_URLS: `${other.url},${far.url}` });
    await reaches(some.url, world.node.chain.head());
    expect(some.lastLines(50).join("\n")).toMatch(`of DATABASE_READ_URLS does not respond`);
    await some.stop("SIGINT");
  });

  test("operators see readers on standbys, and a switch arrives whole", async () => {
    const db = (...args: string[]) => world.run("db", args);
    const named = ["--standby", near.url, "--standby", far.url];
    const listed = await db("list", ...named);
    expect(listed.output).toContain(`on standby ${place(near)}`);
    expect(listed.output).toMatch(/^standby .*, last change \d+ s ago/m);
    // They stream again some seconds after the primary was away.
    await expect
      .poll(async () => (await db("list")).output, { interval: 1_000 })
      .toContain("2 of the standbys at 127.0.0.1, 127.0.0.1 were not named");
    expect((await db("switch", "names_v1", "--name", "names")).code).toBe(0);

    const next = await world.startBeside("start", { DATABASE_SCHEMA: "names_v2", PLUGINS: "subgraph" });
    await waitFor("the next index", async () => {
      const { status } = await fetch(`${next.url}/ready`).catch(() => ({ status: 0 }));
      return status === 200 ? { done: true } : { state: `${status}` };
    });
    await waitFor("it to be servable", async () => {
      const { code, output } = await db("switch", "names_v2", "--name", "trial");
      return code === 0 ? { done: true } : { state: output };
    });
    await next.stop("SIGINT");
    await rowsOf(primary.url, "DROP SCHEMA trial CASCADE");
    // The two indexes differ in all rows that are read. Triggers of the indexer's own sessions do not run.
    await rowsOf(
      primary.url,
      "SET session_replication_role = replica; UPDATE names_v2.domain SET name = 'v2'; UPDATE names_v2.account SET id = 'v2' || id",
    );
    const views = await world.startBeside("serve", {
      DATABASE_URL: near.url,
      DATABASE_STABLE_SCHEMA: "names",
    });
    await reaches(views.url, world.node.chain.head());
    const seen = new Set<string>();
    let isOpen = true;
    const reading = (async () => {
      while (isOpen) {
        await setTimeout(10);
        const { response, body } = await ask(
          views.url,
          "{ domains(first: 20) { name } accounts(first: 5) { id } more: domains(first: 20, orderDirection: desc) { name } }",
        );
        if (response.status === 503 && response.headers.has("retry-after")) continue;
        const { domains, accounts, more, errors } = { ...JSON.parse(body).data, ...JSON.parse(body) };
        if (errors) seen.add(body);
        const of = [...(domains ?? []), ...(more ?? [])].map(({ name }: { name: string }) => name === "v2");
        const ids = (accounts ?? []).map(({ id }: { id: string }) => id.startsWith("v2"));
        seen.add([...new Set([...of, ...ids])].join());
      }
    })();
    for (const schema of ["names_v2", "names_v1", "names_v2"]) {
      const isNext = schema === "names_v2";
      expect((await db("switch", schema, "--name", "names", ...["--force"])).code).toBe(0);
      await waitFor(`the standby to show ${schema}`, async () => {
        const { body } = await ask(views.url, "{ domains(first: 1) { name } }");
        return body.includes('"v2"') === isNext ? { done: true } : { state: body };
      });
    }
    isOpen = false;
    await reading;
    expect([...seen].toSorted()).toEqual(["false", "true"]);

    // The first index is read on standbys alone, by the readers of its own schema.
    await world.stop();
    expect((await db("prune", "names_v1")).output).toContain(
      "2 of the standbys at 127.0.0.1, 127.0.0.1 were not named",
    );
    expect((await db("prune", "names_v1", "--standby", near.url)).output).toContain("1 of the standbys at");
    expect((await db("prune", "names_v1", ...named)).output).toMatch(
      /readers are connected from .* on standby/,
    );
    await reader.stop("SIGINT");
    await waitFor("the prune", async () => {
      const { code, output } = await db("prune", "names_v1", ...named);
      return code === 0 ? { done: output } : { state: output };
    });
    expect((await ask(views.url, "{ domains(first: 1) { name } }")).body).toContain('"v2"');
    await views.stop("SIGINT");
  });
});
