import { writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { listen } from "../../devnet/rpc/server.ts";
import { waitFor } from "../../devnet/wait.ts";
import { type FeedMessage, fold, listed, openReader } from "../../test/support/feed.ts";
import { randomOf } from "../../test/support/feed-history.ts";
import { residentMegabytes, secondsSince } from "../measure.ts";
import { startBenchPostgres } from "../world.ts";
import { printRow, spread, startClients, startFeedWorld } from "./world.ts";

const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
// After a signal the clock of the process is an hour ahead, after the next one it is right again.
const clock =
  "const%20now=Date.now;let%20by=0;process.on('SIGUSR2',()=>{by=by?0:36e5});Date.now=()=>now()+by";
const blocks = 15;

async function* tenGigabytes() {
  const piece = Buffer.alloc(65_536);
  for (let sent = 0; sent < 1e10; sent += piece.length) yield piece;
}

/** Receivers of webhooks, by path: one that folds what it gets, and four that do wrong. */
async function startReceivers() {
  const held = new Map<string, unknown>();
  const deliveries = new Set<unknown>();
  const attempts: Record<string, number> = {};
  const { url, close } = await listen(async (request, response) => {
    const name = request.url?.slice(1) ?? "";
    attempts[name] = (attempts[name] ?? 0) + 1;
    if (name === "hanging") return;
    if (name === "broken") return void response.writeHead(500).end();
    if (name === "moved") return void response.writeHead(307, { location: "http://10.0.0.1/" }).end();
    if (name === "huge") return void pipeline(tenGigabytes, response).catch(() => undefined);
    let messages: unknown;
    try {
      messages = new Webhook(secret).verify(await text(request), request.headers as never);
    } catch {
      // The clock that signs is an hour ahead.
      return void response.writeHead(400).end();
    }
    const id = request.headers["webhook-id"];
    if (!deliveries.has(id)) for (const message of messages as FeedMessage[]) fold(held, message);
    deliveries.add(id);
    response.writeHead(204).end();
  });
  const hooks = ["good", "broken", "hanging", "moved", "huge"].map((name) => ({
    ...{ name, secret, url: `${url}/${name}`, from: "latest", allowPrivate: true },
  }));
  return { held, attempts, hooks, close };
}

/** A proxy that passes on what comes in parts of at least so many bytes, and ends connections after some seconds. */
const startProxy = (target: string, bytes: number) =>
  listen(async (request, response) => {
    const last = request.headers["last-event-id"];
    const headers = last === undefined ? {} : { "last-event-id": String(last) };
    let waiting = Buffer.alloc(0);
    try {
      const answer = await fetch(`${target}${request.url}`, { headers, signal: AbortSignal.timeout(10_000) });
      response.writeHead(answer.status);
      for await (const chunk of answer.body ?? []) {
        waiting = Buffer.concat([waiting, chunk]);
        if (response.destroyed) break;
        if (waiting.length < bytes) continue;
        response.write(waiting);
        waiting = Buffer.alloc(0);
      }
    } catch {
      // Time is over, or the service is away.
    }
    response.end(waiting);
  });

/** Faults by name, done while blocks come. */
function listFaults({
  port,
  pid,
  postgres,
}: {
  port: number;
  pid: () => Promise<number | undefined>;
  postgres: Postgres;
}) {
  const ask = (whenSent: (socket: Socket) => unknown) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.write("GET /v1/events/stream?from=start HTTP/1.1\r\nhost: localhost\r\n\r\n", () =>
        whenSent(socket),
      );
    });
    socket.on("error", () => undefined).pause();
  };
  const many = (count: number, whenSent: (socket: Socket) => unknown) => {
    for (let client = 0; client < count; client++) ask(whenSent);
  };
  const jump = async () => process.kill((await pid()) ?? 0, "SIGUSR2");
  return {
    "none but hooks": () => undefined,
    "500 clients vanish": () => many(500, (socket) => setTimeout(() => socket.destroy(), 50)),
    "300 clients never read": () => many(300, () => undefined),
    "the database restarts": async () => {
      await postgres.halt();
      await sleep(3_000);
      await postgres.resume();
    },
    [clockIsAhead]: jump,
    "and back": jump,
  };
}

const clockIsAhead = "the clock jumps an hour ahead";

type Postgres = Awaited<ReturnType<typeof startBenchPostgres>>;

type Listed = [id: string, entry: unknown];
const failed = "FAILED";

// Waits until a client holds what is listed; says how long it took, or what is missing.
function comes(
  held: Map<string, unknown>,
  wanted: readonly Listed[],
  check: () => unknown = () => undefined,
) {
  const since = performance.now();
  const look = async () => {
    await check();
    const missing = wanted.filter(([id, entry]) => JSON.stringify(held.get(id)) !== JSON.stringify(entry));
    return missing.length > 0
      ? { state: `${missing.length} of ${wanted.length} are missing` }
      : { done: `all, ${secondsSince(since).toFixed(1)} s later` };
  };
  return waitFor("what is listed", look, { timeoutMs: 60_000 }).catch(
    ({ message }: Error) => `${failed}: ${message}`,
  );
}

// Waits until the hook fails for a clock an hour ahead; says so, or what it received.
function isRefused(url: string, held: Map<string, unknown>, wanted: readonly Listed[]) {
  const look = async () => {
    const response = await fetch(url);
    const { feed } = (await response.json()) as { feed: { hooks: { name: string; reason?: string }[] } };
    const { reason = "no failure" } = feed.hooks.find(({ name }) => name === "good") ?? {};
    const seconds = Number(
      /^the response was 400, and the receiver's clock differs by (\d+) s /.exec(reason)?.[1],
    );
    const received = wanted.filter(([id]) => held.has(id)).length;
    return Math.abs(seconds - 3_600) < 20 && received === 0
      ? { done: reason }
      : { state: `${reason}; ${received} of ${wanted.length} came` };
  };
  return waitFor("a refusal", look, { timeoutMs: 60_000 }).catch(
    ({ message }: Error) => `${failed}: ${message}`,
  );
}

/** Prints what comes of each fault; returns how many clients do not come to hold what is listed. */
export async function measureFaults(folder: string): Promise<number> {
  const postgres = await startBenchPostgres();
  const receivers = await startReceivers();
  const file = join(folder, "hooks.json");
  writeFileSync(file, JSON.stringify(receivers.hooks));
  const place = { server: postgres.url, compiledModules: join(folder, "modules") };
  const environment = { WEBHOOKS_FILE: file, NODE_OPTIONS: `--import=data:text/javascript,${clock}` };
  const { indexer, reader, node, pid, mine, indexed, close } = await startFeedWorld(place, environment);
  const proxy = await startProxy(indexer.url, 32_768);
  const clients = startClients();
  let failures = 0;
  let owed: Listed[] = [];
  const urls = [[indexer.url], [reader.url], [proxy.url]];
  const columns = ["the process that indexes", "a reader", "through a proxy that buffers 32 kB", "a hook"];
  printRow("fault; four of five hooks are broken", ...columns, "/health, p50 / p95 / p99 ms", "most MB");
  printRow(...Array.from({ length: 7 }, () => "---"));
  for (const [name, fault] of Object.entries(listFaults({ port: indexer.port, pid, postgres }))) {
    const readers = urls.map((own, at) =>
      openReader(() => own, "from=start", { random: randomOf(at), max: 3_000 }),
    );
    let max = 0;
    const watch = setInterval(async () => {
      max = Math.max(max, residentMegabytes(await pid()));
    }, 250);
    await clients.ask({ health: indexer.port });
    const first = node.chain.head() + 1;
    const happening = fault();
    for (let block = 0; block < blocks; block++) {
      mine(5);
      await sleep(1_000);
    }
    await happening;
    await indexed();
    const all = [...(await listed(indexer.url))];
    const isNew = ([, entry]: Listed) => (entry as { block_number: number }).block_number >= first;
    owed.push(...all.filter(isNew));
    const { held } = receivers;
    const found = await Promise.all([
      ...readers.map((one) => comes(one.held, all, one.failed)),
      name === clockIsAhead ? isRefused(indexer.url, held, owed) : comes(held, owed),
    ]);
    // Once the clock is right, the hook gets what it did not get before.
    if (name !== clockIsAhead) owed = [];
    failures += found.filter((one) => one.startsWith(failed)).length;
    for (const one of readers) await one.stop().catch(() => undefined);
    const { health } = await clients.ask("read");
    await clients.ask("close");
    clearInterval(watch);
    printRow(name, ...found, spread(health), max.toFixed(0));
  }
  console.log(`attempts by hook: ${JSON.stringify(receivers.attempts)}`);
  clients.stop();
  await close();
  for (const one of [proxy, receivers]) await one.close();
  await postgres.stop();
  return failures;
}
