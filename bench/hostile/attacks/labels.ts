import { Readable } from "node:stream";
import { labelhashOf } from "../../../src/ens/labels.ts";
import { type Attack, atOnce, inRounds, type Reply, send, type Target } from "../attack.ts";
import { longLabelLengths } from "../long-labels.ts";
import { pipeline, unfinishedBodies } from "./connections.ts";

const [tenth, one, fifteen] = longLabelLengths;

const heal = { method: "POST", path: "/v1/heal", headers: { "content-type": "application/json" } } as const;

const batch = (target: Target, length: number, count: number, unreadForMs?: number): Promise<Reply> => {
  const labelhash = labelhashOf("x".repeat(length));
  const body = JSON.stringify({ labelhashes: Array.from({ length: count }, () => labelhash) });
  return send(target, { ...heal, body, ...(unreadForMs === undefined ? {} : { unreadForMs }) });
};

function* blanks(megabytes: number): Generator<string> {
  for (let i = 0; i < megabytes; i++) yield " ".repeat(1_000_000);
}

export const labelAttacks: Attack[] = [
  {
    name: "label-batch-100kB",
    threat: "F8",
    what: "a batch of one label of 100 kB, 10,000 times",
    seconds: 60,
    service: "labels",
    run: async (target) => [await batch(target, tenth, 10_000)],
  },
  {
    name: "label-batch-1MB",
    threat: "F8",
    what: "a batch of one label of 1 MB, 10,000 times",
    seconds: 60,
    service: "labels",
    run: async (target) => [await batch(target, one, 10_000)],
  },
  {
    name: "label-batch-15MB",
    threat: "F8",
    what: "a batch of one label of 15 MB, 1,000 times",
    seconds: 60,
    service: "labels",
    run: async (target) => [await batch(target, fifteen, 1_000)],
  },
  {
    name: "label-unread",
    threat: "F8",
    what: "20 responses with a label of 15 MB that nobody reads, for 10 s, and 20 batches of 1 MB x 20",
    seconds: 30,
    service: "labels",
    run: async (target) => {
      const path = `/v1/heal/${labelhashOf("x".repeat(fifteen))}`;
      const [unread, batches] = await Promise.all([
        atOnce(20, () => send(target, { path, unreadForMs: 10_000 })),
        inRounds(target, 20, async () => [await batch(target, one, 20)]),
      ]);
      return [...unread, ...batches];
    },
  },
  {
    name: "label-batch-unread",
    threat: "F8",
    what: "100 batches of one label of 100 kB, 300 times, that nobody reads, for 10 s",
    seconds: 30,
    service: "labels",
    run: (target) => atOnce(100, () => batch(target, tenth, 300, 10_000)),
  },
  {
    name: "label-body",
    threat: "F7",
    what: "4 bodies of 1 GB in chunks",
    seconds: 60,
    service: "labels",
    run: (target) => atOnce(4, () => send(target, { ...heal, body: Readable.from(blanks(1_000)) })),
  },
  {
    name: "label-pipelined",
    threat: "F7",
    what: "GET /health 5,000 times over each of 20 connections, without waiting for responses",
    seconds: 60,
    service: "labels",
    run: (target) => atOnce(20, () => pipeline(target, "GET /health HTTP/1.1\r\nhost: x\r\n\r\n", 5_000)),
  },
  {
    name: "label-unfinished-bodies",
    threat: "F7",
    what: "400 bodies of which 999,000 of 1,000,000 bytes arrive, and no more for 15 s",
    seconds: 30,
    service: "labels",
    run: (target) => unfinishedBodies(target, "/v1/heal"),
  },
];
