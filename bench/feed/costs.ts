import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../devnet/ports.ts";
import { namespaces } from "../../src/deployments/namespaces.ts";
import { createFeedWriter } from "../../src/feed/log.ts";
import { indexedNamespaces } from "../../src/read/names/indexed-namespaces.ts";
import { createPool, query } from "../../test/support/postgres.ts";
import { childrenOf } from "../../test/support/process-tree.ts";
import { serveHistory } from "../backfill/chain.ts";
import { indexOnce, realRoot } from "../backfill/indexing-process.ts";
import { readProcessorSeconds, residentMegabytes, secondsSince, untilReady, whole } from "../measure.ts";
import type { World } from "../world.ts";
import { type FeedWorld, generateLabel, generateOwner, printRow, spread, startClients } from "./world.ts";

const registrations = 17;
const streams = 1_000;

type Clients = ReturnType<typeof startClients>;

/**
 * Prints what the feed costs while nothing else happens: messages of new blocks, with one stream and with many, and
 * streams that wait.
 */
export async function measureLive(world: FeedWorld, blocks: number): Promise<void> {
  const clients = startClients();
  const { indexer, reader } = world;
  printRow(
    "live, blocks a second apart",
    "messages/s",
    "from the block's arrival, p50 / p95 / p99 ms",
    "/health ms",
  );
  printRow("---", "---", "---", "---");
  for (const [what, { url }] of [
    ["the indexing process", indexer],
    ["a reader", reader],
  ] as const) {
    await clients.ask({ open: [`${url}/v1/events/stream`] });
    await printBlocks(`1 stream of ${what}`, world, { clients, blocks });
    await printBlocks(`the same, beside ${streams} streams with other filters`, world, {
      ...{ clients, blocks, health: Number(new URL(url).port) },
      others: Array.from(
        { length: streams },
        (_, at) => `${url}/v1/events/stream?${buildFilter(at, world.node.chain.head())}`,
      ),
    });
    await clients.ask("close");
  }
  clients.stop();
}

// Streams of names, addresses, types and kinds; those of names get what is registered in the next blocks.
function buildFilter(at: number, head: number): string {
  const number = Math.floor(at / 4);
  const kinds = ["NewOwner", "NewResolver", "NameRegistered", "NameTransferred"];
  return [
    `name=${generateLabel(head + 1 + (number % 20), number % registrations)}.eth`,
    `address=${generateOwner(number % registrations)}&exclude_type=record`,
    `type=${["authority", "resolver", "registration", "transfer"][number % 4]}&name=${generateLabel(head + 1, number)}.eth`,
    `kind=${kinds[number % 4]}&address=${generateOwner(number)}`,
  ][at % 4] as string;
}

type Round = { clients: Clients; blocks: number; health?: number; others?: string[] };

async function printBlocks(what: string, world: FeedWorld, { clients, blocks, health, others = [] }: Round) {
  await clients.ask({ open: others });
  if (health !== undefined) await clients.ask({ health });
  await clients.ask("read");
  for (let block = 0; block < blocks; block++) {
    world.mine(registrations);
    await sleep(1_000);
  }
  await world.indexed();
  await sleep(1_000);
  const seen = await clients.ask("read");
  const times = seen.messages.map(([block, at]) => at - (world.arrived.get(block) ?? Number.NaN));
  printRow(
    what,
    whole(times.length / blocks),
    spread(times),
    seen.health.length > 0 ? spread(seen.health) : "",
  );
}

/** Prints the memory and the load of streams for which there is nothing. */
export async function measureIdle({ reader, databaseUrl }: FeedWorld): Promise<void> {
  const clients = startClients();
  const [pid] = await childrenOf(reader.pid);
  const look = async () => {
    await sleep(2_000);
    const begun = [await transactions(databaseUrl), readProcessorSeconds(pid), performance.now()] as const;
    await sleep(10_000);
    const seconds = secondsSince(begun[2]);
    const [statements, processor] = [
      (await transactions(databaseUrl)) - begun[0],
      readProcessorSeconds(pid) - begun[1],
    ];
    return {
      megabytes: residentMegabytes(pid),
      statements: statements / seconds,
      processor: processor / seconds,
    };
  };
  const urls = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, at) => `${reader.url}/v1/events/stream?name=idle${from + at}.eth`);
  printRow("idle streams of a reader", "memory MB", "transactions/s of the database", "processor");
  printRow("---", "---", "---", "---");
  // Streams that end warm the process up.
  await clients.ask({ open: urls(0, 200) });
  await clients.ask("close");
  for (const count of [0, streams]) {
    await clients.ask({ open: urls(200, 200 + count) });
    const { megabytes, statements, processor } = await look();
    printRow(whole(count), whole(megabytes), whole(statements), `${(processor * 100).toFixed(0)} %`);
  }
  clients.stop();
}

async function transactions(url: string): Promise<number> {
  const [{ count = 0 } = {}] = await query<{ count: number }>(
    url,
    "SELECT xact_commit::float8 AS count FROM pg_stat_database WHERE datname = current_database()",
  );
  return count;
}

/** Prints how fast one stream catches up, from the tables of events and from the log. */
export async function measureCatchingUp({ folder, url }: World, logs: number): Promise<void> {
  const served = await serveHistory({ logs, folder });
  const [name, port, plugins] = ["bench_feed", await freePort(), "subgraph,registrars,protocol-acceleration"];
  const environment = { ...served.environment, DATABASE_URL: url, PLUGINS: plugins };
  const clients = startClients();
  const pool = createPool(url, 1);
  const read = async (what: string, page: number) => {
    const begun = performance.now();
    await clients.ask({ open: [`http://127.0.0.1:${port}/v1/events/stream?from=start`] });
    const seconds = secondsSince(begun);
    const { length } = (await clients.ask("read")).messages;
    await clients.ask("close");
    printRow(what, whole(length), whole(length / seconds), (length / seconds / page).toFixed(2));
    return length / seconds;
  };
  const whenComplete = async () => {
    await untilReady(port);
    await sleep(1_000);
    printRow("catching up", "messages", "messages/s", "of the first");
    printRow("---", "---", "---", "---");
    await read("from the tables, cold", Number.NaN);
    const first = await read("from the tables", 1);
    // As if the log had begun before all events.
    await pool.query(
      `UPDATE "${name}"._indexing_status SET snapshot = (snapshot::jsonb || '{"since": 0, "final": 0}')::json WHERE id = 'feed'`,
    );
    const run = (text: string, values?: unknown[]) => pool.query(text, values);
    await createFeedWriter({
      run,
      schema: name,
      namespaces: indexedNamespaces(namespaces.holesky, plugins.split(",")),
    })();
    await read("from the log, cold", first);
    await read("from the log", first);
  };
  await indexOnce({ name, appRoot: realRoot, port, environment, whenComplete });
  clients.stop();
  await pool.end();
  await served.close();
}
