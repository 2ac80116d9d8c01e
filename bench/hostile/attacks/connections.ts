import { connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import { type Attack, atOnce, inRounds, pause, query, send, type Target, times } from "../attack.ts";

// Attacks through how a request is sent, or its response read.

const megabyte = " ".repeat(1_000_000);

function* chunks(count: number): Generator<string> {
  yield '{"query":"';
  for (let i = 0; i < count; i++) yield megabyte;
  yield '"}';
}

// About 57 MB: below the limit of a response.
const large = `{ domains(first: 1000) { ${times(760, (i) => `f${i}: id`)} } }`;

export const connectionAttacks: Attack[] = [
  {
    // 60 GETs of a deep page of the sales, given up together after 8 to 500 ms, in 21 rounds.
    name: "given-up",
    seconds: 50,
    run: (target) =>
      inRounds(target, 21, async (round) => {
        const givesUpAfterMs = [8, 15, 30, 60, 120, 250, 500][round % 7] ?? 8;
        await atOnce(60, () => send(target, { path: "/api/name-sales?limit=100&page=900", givesUpAfterMs }));
        await pause(target, 300);
      }),
  },
  {
    // 60 clients on deep pages of the sales.
    name: "deep-pages",
    seconds: 20,
    run: (target) =>
      atOnce(60, () =>
        inRounds(target, 50, () =>
          send(target, { path: `/api/name-sales?limit=100&page=${900 + target.random.below(100)}` }),
        ),
      ),
  },
  {
    // Two bodies of 600 MB at once, without Content-Length.
    name: "chunked-bodies",
    seconds: 60,
    run: (target) =>
      atOnce(2, () =>
        send(target, {
          method: "POST",
          path: "/subgraph",
          headers: { "content-type": "application/json", "transfer-encoding": "chunked" },
          body: Readable.from(chunks(600), { objectMode: false }),
        }),
      ),
  },
  {
    // 150 pages of GraphiQL (8.9 MB each) that nobody reads, for 15 s.
    name: "unread-pages",
    seconds: 30,
    run: (target) =>
      atOnce(150, () =>
        send(target, { path: "/subgraph", headers: { accept: "text/html" }, unreadForMs: 15_000 }),
      ),
  },
  {
    // 20 responses of 57 MB that nobody reads, for 15 s.
    name: "unread-responses",
    seconds: 45,
    run: (target) => atOnce(20, () => query(target, large, undefined, { unreadForMs: 15_000 })),
  },
  {
    // 500 POSTs whose bodies arrive a byte a second, and 2,000 sockets that send nothing.
    name: "slow-bodies",
    seconds: 40,
    run: async (target) => {
      const head =
        "POST /subgraph HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n";
      const slow = await atOnce(500, () => open(target, head));
      const idle = await atOnce(2_000, () => open(target, ""));
      const dripping = setInterval(() => {
        for (const socket of slow) if (socket.writable) socket.write(" ");
      }, 1000);
      await pause(target, 35_000);
      clearInterval(dripping);
      for (const socket of [...slow, ...idle]) socket.destroy();
    },
  },
  {
    // GET /health 5,000 times over each of 20 connections, without waiting for responses.
    name: "pipelined-health",
    seconds: 60,
    run: (target) => atOnce(20, () => pipeline(target, "GET /health HTTP/1.1\r\nhost: x\r\n\r\n", 5_000)),
  },
  {
    // 2,000 small queries over each of 10 connections, without waiting for responses.
    name: "pipelined-queries",
    seconds: 60,
    run: (target) => {
      const body = '{"query":"{ domains(first: 3) { id name } }"}';
      const head = `POST /subgraph HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
      return atOnce(10, () => pipeline(target, `${head}\r\n\r\n${body}`, 2_000));
    },
  },
  {
    // 400 bodies of which 999,000 of 1,000,000 bytes arrive, and no more for 15 s.
    name: "unfinished-bodies",
    seconds: 30,
    run: (target) => unfinishedBodies(target, "/subgraph"),
  },
];

/** 400 bodies of 1,000,000 bytes at once, whose last 1,000 never arrive; each connection ends after 15 s. */
export function unfinishedBodies(target: Target, path: string): Promise<unknown> {
  const head = `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n`;
  return atOnce(400, async () => {
    const socket = await open(target, head + megabyte.slice(1_000));
    await pause(target, 15_000);
    socket.destroy();
  });
}

/** Sends a request `count` times over one connection at once, and waits until all are answered or the connection ends. */
export async function pipeline(target: Target, bytes: string, count: number): Promise<void> {
  const socket = await open(target, "");
  let answered = 0;
  let tail = "";
  await new Promise<void>((resolve) => {
    socket.setEncoding("latin1").on("data", (data: string) => {
      const text = tail + data;
      answered += text.split("HTTP/1.1 ").length - 1;
      tail = text.slice(Math.max(0, text.length - 8));
      if (answered === count) resolve();
    });
    socket.on("close", resolve);
    target.ends.addEventListener("abort", () => resolve(), { once: true });
    socket.write(bytes.repeat(count));
  });
  socket.destroy();
}

/** A connection on which `head` was sent; it stays open, and what comes is dropped. */
function open({ port, from }: Target, head: string): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress: from });
  return new Promise((resolve) => {
    // An error is followed by "close".
    socket
      .on("error", () => resolve(socket))
      .on("connect", () => {
        if (head === "") return resolve(socket);
        socket.resume().write(head);
        resolve(socket);
      });
  });
}
