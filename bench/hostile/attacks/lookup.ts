import { createHash } from "node:crypto";
import { type Attack, atOnce, inRounds, send, type Target, times } from "../attack.ts";

// The account that has one in a thousand of the generated names (test/support/subgraph/generate.ts).
const hot = `0x${createHash("sha256").update("account0").digest("hex").slice(0, 40)}`;

const lookUp = (target: Target, inputs: readonly object[], unreadForMs?: number) =>
  send(target, {
    method: "POST",
    path: "/v1/lookup",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ inputs }),
    unreadForMs,
  });

const get = (target: Target, path: string) => send(target, { path: `/v1/${path}` });

/** As many inputs as one request may have, for as many names as they may ask for. */
const hotInputs = Array.from({ length: 1_000 }, () => ({ address: hot, page_size: 50 }));

export const lookupAttacks: Attack[] = [
  {
    // 4 POSTs of 1,000 times the address with the most names, five times.
    name: "lookup-hot",
    seconds: 60,
    run: (target) => inRounds(target, 5, () => atOnce(4, () => lookUp(target, hotInputs))),
  },
  {
    // 8 POSTs of 1,000 names with 400 labels each, five times.
    name: "lookup-names",
    seconds: 60,
    run: (target) =>
      inRounds(target, 5, () =>
        atOnce(8, (place) =>
          lookUp(
            target,
            Array.from({ length: 1_000 }, (_, i) => ({
              name: `${times(400, () => "a", ".")}.${place}${i}.eth`,
            })),
          ),
        ),
      ),
  },
  {
    // 20 POSTs of 1,000 addresses whose responses are not read for 40 s.
    name: "lookup-unread",
    seconds: 60,
    run: (target) => atOnce(20, () => lookUp(target, hotInputs, 40_000)),
  },
  {
    // 30 searches for what is in the middle of many names, and lists by every order, three times.
    name: "lookup-lists",
    seconds: 60,
    run: (target) =>
      inRounds(target, 3, (round) =>
        atOnce(30, (place) => {
          const page = `page_size=200&q=a${round}`;
          const paths = [
            `search?${page}&match=contains`,
            `names/eth/subnames?${page}&match=contains&sort=expires_at`,
            `addresses/${hot}/names?${page}&match=contains&sort=registered_at&order=desc`,
            `addresses/${hot}/history?page_size=200`,
          ];
          return get(target, paths[place % paths.length] ?? "");
        }),
      ),
  },
];
