import { Readable } from "node:stream";
import { labelhash } from "../../../src/ens/labels.ts";
import { type Attack, atOnce, inRounds, send, type Target } from "../attack.ts";
import { pipeline, unfinishedBodies } from "./connections.ts";

/** Lengths of labels that are expensive in a batch; each consists of the letter x. */
export const longLabelLengths = [100_000, 1_000_000, 15_000_000] as const;
const [tenth, one, fifteen] = longLabelLengths;

const heal = { method: "POST", path: "/v1/heal", headers: { "content-type": "application/json" } } as const;

const batch = (target: Target, length: number, count: number, unreadForMs?: number): Promise<void> => {
  const hash = labelhash("x".repeat(length));
  const body = JSON.stringify({ labelhashes: Array.from({ length: count }, () => hash) });
  return send(target, { ...heal, body, unreadForMs });
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
      // A batch of one label of ${size}, ${count} times.
      name: `label-batch-${size}`,
      seconds: 60,
      service: "labels",
      run: (target) => batch(target, length, count),
    }),
  ),
  {
    // 20 responses with a label of 15 MB that nobody reads, for 10 s, and 20 batches of 1 MB x 20.
    name: "label-unread",
    seconds: 30,
    service: "labels",
    run: (target) => {
      const path = `/v1/heal/${labelhash("x".repeat(fifteen))}`;
      return Promise.all([
        atOnce(20, () => send(target, { path, unreadForMs: 10_000 })),
        inRounds(target, 20, () => batch(target, one, 20)),
      ]);
    },
  },
  {
    // 100 batches of one label of 100 kB, 300 times, that nobody reads, for 10 s.
    name: "label-batch-unread",
    seconds: 30,
    service: "labels",
    run: (target) => atOnce(100, () => batch(target, tenth, 300, 10_000)),
  },
  {
    // 4 bodies of 1 GB in chunks.
    name: "label-body",
    seconds: 60,
    service: "labels",
    run: (target) => atOnce(4, () => send(target, { ...heal, body: Readable.from(blanks(1_000)) })),
  },
  {
    // GET /health 5,000 times over each of 20 connections, without waiting for responses.
    name: "label-pipelined",
    seconds: 60,
    service: "labels",
    run: (target) => atOnce(20, () => pipeline(target, "GET /health HTTP/1.1\r\nhost: x\r\n\r\n", 5_000)),
  },
  {
    // 400 bodies of which 999,000 of 1,000,000 bytes arrive, and no more for 15 s.
    name: "label-unfinished-bodies",
    seconds: 30,
    service: "labels",
    run: (target) => unfinishedBodies(target, "/v1/heal"),
  },
];
