import { request } from "node:http";
import { Readable } from "node:stream";
import type { Random } from "../../devnet/random.ts";

/** Target of an attack. `port` is that of the attacked service. */
export type Target = {
  port: number;
  /** Loopback address that the attack comes from. */
  from: string;
  random: Random;
  ends: AbortSignal;
};

/** A way to harm other clients by requests alone. */
export type Attack = {
  name: string;
  /** Seconds after which it is aborted. */
  seconds: number;
  /** The attacked service; the indexing service by default. */
  service?: "labels";
  run(target: Target): Promise<unknown>;
};

type Sent = {
  method?: "GET" | "POST";
  path: string;
  headers?: Record<string, string>;
  body?: string | Readable | undefined;
  /** Milliseconds after which the client disconnects. */
  givesUpAfterMs?: number;
  /** Milliseconds for which the client reads nothing of the response before it disconnects. */
  unreadForMs?: number | undefined;
};

/** Sends one request on its own connection; settles when the response is read or the connection ends. Never throws. */
export function send({ port, from, ends }: Target, sent: Sent): Promise<void> {
  const { method = "GET", path, headers = {}, body, givesUpAfterMs = 120_000, unreadForMs } = sent;
  return new Promise((resolve) => {
    if (ends.aborted) return resolve();
    const asked = request(
      { host: "127.0.0.1", localAddress: from, port, method, path, headers, agent: false },
      (response) => {
        response.on("error", end).on("end", end);
        if (unreadForMs === undefined) response.resume();
        else setTimeout(end, unreadForMs);
      },
    );
    const timer = setTimeout(end, givesUpAfterMs);
    function end() {
      clearTimeout(timer);
      ends.removeEventListener("abort", end);
      resolve();
      asked.destroy();
    }
    ends.addEventListener("abort", end, { once: true });
    asked.on("error", end).on("close", end);
    if (body instanceof Readable) body.pipe(asked);
    else asked.end(body);
  });
}

/** A POST of a query to the subgraph. */
export function query(target: Target, text: string, variables?: unknown, more: Partial<Sent> = {}) {
  return send(target, {
    method: "POST",
    path: "/subgraph",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: text, variables }),
    ...more,
  });
}

/** Joins the `count` results of `make` for the indexes from 0. */
export function times(count: number, make: (place: number) => string, separator = " "): string {
  return Array.from({ length: count }, (_, place) => make(place)).join(separator);
}

/** Runs `count` at once; returns the results in order. */
export function atOnce<T>(count: number, run: (place: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, place) => run(place)));
}

/** Calls `run` for `rounds` rounds in sequence, or until the attack has to end. */
export async function inRounds(
  { ends }: Target,
  rounds: number,
  run: (round: number) => Promise<unknown>,
): Promise<void> {
  for (let round = 0; round < rounds && !ends.aborted; round++) await run(round);
}

/** Waits, but not beyond the end of the attack. */
export function pause({ ends }: Target, milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    ends.addEventListener("abort", end, { once: true });
  });
}
