import { createRandom, type Random } from "../../devnet/random.ts";
import { createSchema } from "../../src/api/subgraph/schema/schema.ts";
import { labelhashOf } from "../../src/ens/labels.ts";
import { createDocuments } from "../../test/hostile/support/documents.ts";
import { describeRequest, wrongWith, wrongWithAnswer } from "../../test/hostile/support/oracle.ts";
import {
  type ApiDocument,
  batchRequest,
  describedRequest,
  type FuzzRequest,
  queryRequest,
} from "../../test/hostile/support/requests.ts";
import { sendOverSocket } from "../../test/hostile/support/sockets.ts";
import { residentMegabytes } from "./gauges.ts";
import type { World } from "./world.ts";

type Kind = {
  name: string;
  share: number;
  port: number;
  make: (random: Random) => FuzzRequest;
  wrong: typeof wrongWith;
};

// Longer than the statement timeout, with room for waiting in the queue.
const mostMs = 30_000;
const connections = 16;
const shownFailures = 20;

/**
 * Sends random requests to both services, 16 at a time, and checks each response with the oracle. Prints failures with
 * the requests that caused them, statuses by kind, memory, and whether a process exited.
 */
export async function fuzzServices(world: World, { requests, seed }: { requests: number; seed: number }) {
  const kinds = await kindsOf(world, createRandom(seed));
  const failures: string[] = [];
  const statuses = new Map<string, number>();
  const before = await indexerOf(world);
  const started = performance.now();
  let sent = 0;
  await Promise.all(
    Array.from({ length: connections }, async (_, place) => {
      const random = createRandom(seed * 1000 + place + 1);
      while (sent < requests) {
        sent += 1;
        const kind = pickOf(random, kinds);
        const request = kind.make(random);
        try {
          const started = performance.now();
          const response = await sendOverSocket(kind.port, request);
          const took = performance.now() - started;
          const wrong =
            kind.wrong(request, response) ?? (took > mostMs ? `took ${Math.round(took)} ms` : undefined);
          if (wrong !== undefined) failures.push(`${kind.name}: ${wrong}: ${describeRequest(request)}`);
          const key = `${kind.name} ${response.status}`;
          statuses.set(key, (statuses.get(key) ?? 0) + 1);
        } catch (error) {
          failures.push(`${kind.name}: ${error instanceof Error ? error.message : error}`);
          // A process that exited is back after a while, or never.
          await new Promise((resolve) => setTimeout(resolve, 1_000));
        }
        if (sent % 10_000 === 0) console.log(`${sent} requests, ${failures.length} failures`);
      }
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  const after = await indexerOf(world);
  return [
    `${sent} random requests in ${seconds.toFixed(0)} s (seed ${seed}): ${failures.length} failures, the process ${before.pid === after.pid ? "lives" : "ENDED"}, RSS ${before.rss} -> ${after.rss} MB, ${world.log.controls} lines of log with raw control characters`,
    `  ${[...statuses]
      .toSorted()
      .map(([key, count]) => `${key}: ${count}`)
      .join(", ")}`,
    ...failures.slice(0, shownFailures).map((failure) => `  ${failure.slice(0, 1_500)}`),
  ].join("\n");
}

async function kindsOf(world: World, random: Random): Promise<Kind[]> {
  const documents = createDocuments(createSchema(), random);
  const documentOf = async (port: number) =>
    (await (await fetch(`http://127.0.0.1:${port}/openapi.json`)).json()) as ApiDocument;
  const [rest, labels] = [await documentOf(world.port), await documentOf(world.labels.port)];
  const known = ["eth", "xyz", "name1"].map(labelhashOf);
  const [port, labelsPort] = [world.port, world.labels.port];
  return [
    {
      name: "graphql",
      share: 0.6,
      port,
      make: (one) => queryRequest(one, "/subgraph", documents()),
      wrong: wrongWithAnswer,
    },
    { name: "rest", share: 0.25, port, make: (one) => describedRequest(one, rest), wrong: wrongWith },
    {
      name: "labels",
      share: 0.1,
      port: labelsPort,
      make: (one) => describedRequest(one, labels),
      wrong: wrongWith,
    },
    {
      name: "batches",
      share: 0.05,
      port: labelsPort,
      make: (one) => batchRequest(one, known),
      wrong: wrongWith,
    },
  ];
}

function pickOf(random: Random, kinds: readonly Kind[]): Kind {
  let left = random.fraction();
  for (const kind of kinds) {
    left -= kind.share;
    if (left < 0) return kind;
  }
  return random.pick(kinds);
}

async function indexerOf(world: World) {
  const pid = await world.indexerPid();
  return { pid, rss: pid === undefined ? 0 : Math.round(residentMegabytes(pid)) };
}
