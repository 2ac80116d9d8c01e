import { type ClientRequest, request } from "node:http";
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

/** How one request of an attack ended: HTTP status with the error in the body, or why there was no response. */
export type Reply = { status: string; ms: number; bytes: number };

/** One row of the table: a way to harm other clients by requests alone. */
export type Attack = {
  name: string;
  what: string;
  /** Seconds after which it is aborted. */
  seconds: number;
  /** The attacked service; the indexing service by default. */
  service?: "labels";
  run(target: Target): Promise<Reply[]>;
};

type Sent = {
  method?: "GET" | "POST";
  path: string;
  headers?: Record<string, string>;
  body?: string | Readable | undefined;
  /** Milliseconds after which the client disconnects. */
  givesUpAfterMs?: number;
  /** Milliseconds for which the client reads nothing of the response before it disconnects. */
  unreadForMs?: number;
};

/** Sends one request on its own connection and counts the bytes of the response. Never throws. */
export function send({ port, from, ends }: Target, sent: Sent): Promise<Reply> {
  const { method = "GET", path, headers = {}, body, givesUpAfterMs, unreadForMs } = sent;
  const started = performance.now();
  let bytes = 0;
  return new Promise((resolve) => {
    let asked: ClientRequest | undefined;
    const end = (status: string) => {
      clearTimeout(timer);
      ends.removeEventListener("abort", stop);
      resolve({ status, ms: performance.now() - started, bytes });
      asked?.destroy();
    };
    const stop = () => end("no response");
    const timer = setTimeout(() => end("given up"), givesUpAfterMs ?? 120_000);
    ends.addEventListener("abort", stop, { once: true });
    if (ends.aborted) return stop();
    asked = request(
      { host: "127.0.0.1", localAddress: from, port, method, path, headers, agent: false },
      (response) => {
        const status = String(response.statusCode);
        response.on("error", () => end(`${status}, broken off`));
        if (unreadForMs !== undefined) return void setTimeout(() => end(`${status}, unread`), unreadForMs);
        let start = "";
        response.on("data", (chunk: Buffer) => {
          if (bytes === 0) start = chunk.toString("utf8", 0, 300);
          bytes += chunk.length;
        });
        response.on("end", () => end(`${status}${errorIn(start)}`));
      },
    );
    asked.on("error", (error: NodeJS.ErrnoException) => end(error.code ?? "error"));
    asked.on("close", () => end("closed"));
    if (body instanceof Readable) body.pipe(asked);
    else asked.end(body);
  });
}

function errorIn(body: string): string {
  const message = /^\{"(?:errors":\[\{"message|error|message)":"((?:[^"\\]|\\.)*)/.exec(body)?.[1];
  return message === undefined ? "" : ` "${message.slice(0, 70)}"`;
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
export async function inRounds<T>(
  { ends }: Target,
  rounds: number,
  run: (round: number) => Promise<T[]>,
): Promise<T[]> {
  const all: T[] = [];
  for (let round = 0; round < rounds && !ends.aborted; round++) all.push(...(await run(round)));
  return all;
}

/** Waits, but not beyond the end of the attack. */
export function pause({ ends }: Target, milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    ends.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
