import { Readable } from "node:stream";
import { labelhash } from "../../../src/ens/labels.ts";
import { type Attack, atOnce, inRounds, type Reply, send, type Target } from "../attack.ts";
import { pipeline, unfinishedBodies } from "./connections.ts";

/** Lengths of labels that are expensive in a batch; each consists of the letter x. */
export const longLabelLengths = [100_000, 1_000_000, 15_000_000] as const;
const [tenth, one, fifteen] = longLabelLengths;

const heal = { method: "POST", path: "/v1/heal", headers: { "content-type": "application/json" } } as const;

const batch = (target: Target, length: number, count: number, unreadForMs?: number): Promise<Reply> => {
  const hash = labelhash("x".repeat(length));
  const body = JSON.stringify({ labelhashes: Array.from({ length: count }, () => hash) });
  return send(target, { ...heal, body, ...(unreadForMs === undefined ? {} : { unreadForMs }) });
};

function* blanks(megabytes: number): Generator<string> {
  for (let i = 0; i < megabytes; i++) yield " ".repeat(1_000_000);
}

export const labelAttacks: Attack[] = [
  ...(
    [
      ["100kB", tenth, 10_000],
      ["1MB", one, 10_000],
      ["15MB", fifteen, 1_000],
    ] as const
  ).map(
    ([size, length, count]): Attack => ({
      name: `label-batch-${size}`,
      what: `a batch of one label of ${size}, ${count} times`,
      seconds: 60,
      service: "labels",
      run: async (target) => [await batch(target, length, count)],
    }),
  ),
  {
    name: "label-unread",
    what: "20 responses with a label of 15 MB that nobody reads, for 10 s, and 20 batches of 1 MB x 20",
    seconds: 30,
    service: "labels",
    run: async (target) => {
      const path = `/v1/heal/${labelhash("x".repeat(fifteen))}`;
      const [unread, batches] = await Promise.all([
        atOnce(20, () => send(target, { path, unreadForMs: 10_000 })),
        inRounds(target, 20, async () => [await batch(target, one, 20)]),
      ]);
      return [...unread, ...batches];
    },
  },
  {
    name: "label-batch-unread",
    what: "100 batches of one label of 100 kB, 300 times, that nobody reads, for 10 s",
    seconds: 30,
    service: "labels",
    run: (target) => atOnce(100, () => batch(target, tenth, 300, 10_000)),
  },
  {
    name: "label-body",
    what: "4 bodies of 1 GB in chunks",
    seconds: 60,
    service: "labels",
    run: (target) => atOnce(4, () => send(target, { ...heal, body: Readable.from(blanks(1_000)) })),
  },
  {
    name: "label-pipelined",
    what: "GET /health 5,000 times over each of 20 connections, without waiting for responses",
    seconds: 60,
    service: "labels",
    run: (target) => atOnce(20, () => pipeline(target, "GET /health HTTP/1.1\r\nhost: x\r\n\r\n", 5_000)),
  },
  {
    name: "label-unfinished-bodies",
    what: "400 bodies of which 999,000 of 1,000,000 bytes arrive, and no more for 15 s",
    seconds: 30,
    service: "labels",
    run: (target) => unfinishedBodies(target, "/v1/heal"),
  },
];
