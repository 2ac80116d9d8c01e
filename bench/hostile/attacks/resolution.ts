import { type Attack, atOnce, inRounds, pause, type Reply, send, type Target, times } from "../attack.ts";

// Attacks through resolvers controlled by the attacker (bench/hostile/hostile-node.ts).

const records = (target: Target, name: string, texts: number, givesUpAfterMs = 60_000) =>
  send(target, {
    path: `/api/resolve/records/${name}?texts=${times(texts, (i) => `k${i}`, ",")}`,
    givesUpAfterMs,
  });

/** 150 records: 50 texts, 50 addresses and 50 interfaces. */
const manyRecords = (target: Target, name: string) =>
  send(target, {
    path: `/api/resolve/records/${name}?texts=${times(50, (i) => `k${i}`, ",")}&addresses=${times(50, (i) => `${i}`, ",")}&interfaces=${times(50, (i) => `0x${(i + 1).toString(16).padStart(8, "0")}`, ",")}`,
    givesUpAfterMs: 30_000,
  });

// Ponder's default for nodes on other machines.
const remote = { RPC_REQUESTS_PER_SECOND: "20" };

export const resolutionAttacks: Attack[] = [
  {
    name: "resolve-loop",
    threat: "F4",
    what: "31 GETs of a resolver whose look-ups never end (batch gateway in its own callback)",
    seconds: 40,
    run: (target) => atOnce(31, () => records(target, "loop.eth", 1)),
  },
  {
    name: "resolve-invalid",
    threat: "F4",
    what: "8 GETs of 50 texts; each call meets INVALID",
    seconds: 40,
    run: (target) => atOnce(8, () => records(target, "invalid.eth", 50)),
  },
  {
    name: "resolve-reason",
    threat: "F4",
    what: "one GET of 50 texts; each call reverts with 1 MB of reason (line feeds and escape codes in it)",
    seconds: 40,
    run: async (target) => [await records(target, "reason.eth", 50)],
  },
  {
    name: "resolve-template",
    threat: "F4",
    what: "one GET: 24 gateway URLs with `{data}` 240 times, 1 MB of data",
    seconds: 60,
    run: async (target) => [await records(target, "template.eth", 1)],
  },
  {
    name: "resolve-flood",
    threat: "F4",
    what: "a GET of 150 records of an ordinary resolver every 3 s (20 RPC requests a second)",
    seconds: 50,
    environment: remote,
    run: async (target) => {
      const replies: Promise<Reply>[] = [];
      await inRounds(target, 14, async () => {
        replies.push(manyRecords(target, "plain.eth"));
        await pause(target, 3_000);
        return [];
      });
      return Promise.all(replies);
    },
  },
  {
    name: "gateway-101",
    threat: "F10",
    what: "10 GETs whose gateway answers 101 Switching Protocols",
    seconds: 40,
    environment: { CCIP_ALLOW_PRIVATE_HOSTS: "true" },
    run: (target) => atOnce(10, () => records(target, "upgrade.eth", 1)),
  },
];
