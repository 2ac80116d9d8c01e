import { connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import {
  type Attack,
  atOnce,
  inRounds,
  pause,
  query,
  type Reply,
  send,
  type Target,
  times,
} from "../attack.ts";

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
    name: "given-up",
    what: "60 GETs of a deep page of the sales, given up together after 8 to 500 ms, in 21 rounds",
    seconds: 50,
    run: async (target) => {
      const replies = await inRounds(target, 21, async (round) => {
        const givesUpAfterMs = [8, 15, 30, 60, 120, 250, 500][round % 7] ?? 8;
        const given = await atOnce(60, () =>
          send(target, { path: "/api/name-sales?limit=100&page=900", givesUpAfterMs }),
        );
        await pause(target, 300);
        return given;
      });
      // Whether it still responds.
      await pause(target, 5_000);
      return [...replies, await send(target, { path: "/api/name-sales", givesUpAfterMs: 25_000 })];
    },
  },
  {
    name: "deep-pages",
    what: "60 clients on deep pages of the sales",
    seconds: 20,
    run: async (target) =>
      (
        await atOnce(60, () =>
          inRounds(target, 50, async () => [
            await send(target, { path: `/api/name-sales?limit=100&page=${900 + target.random.below(100)}` }),
          ]),
        )
      ).flat(),
  },
  {
    name: "chunked-bodies",
    what: "two bodies of 600 MB at once, without Content-Length",
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
    name: "unread-pages",
    what: "150 pages of GraphiQL (8.9 MB each) that nobody reads, for 15 s",
    seconds: 30,
    run: (target) =>
      atOnce(150, () =>
        send(target, { path: "/subgraph", headers: { accept: "text/html" }, unreadForMs: 15_000 }),
      ),
  },
  {
    name: "unread-responses",
    what: "20 responses of 57 MB that nobody reads, for 15 s",
    seconds: 45,
    run: (target) => atOnce(20, () => query(target, large, undefined, { unreadForMs: 15_000 })),
  },
  {
    name: "slow-bodies",
    what: "500 POSTs whose bodies arrive a byte a second, and 2,000 sockets that send nothing",
    seconds: 40,
    run: async (target) => {
      const head =
        "POST /subgraph HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n";
      const slow = await atOnce(500, () => open(target, head));
      const idle = await atOnce(2_000, () => open(target, ""));
      const dripping = setInterval(() => {
        for (const { socket } of slow) if (socket.writable) socket.write(" ");
      }, 1000);
      await pause(target, 35_000);
      clearInterval(dripping);
      return [...slow.map((one) => one.close("slow body")), ...idle.map((one) => one.close("idle"))];
    },
  },
  {
    name: "pipelined-health",
    what: "GET /health 5,000 times over each of 20 connections, without waiting for responses",
    seconds: 60,
    run: (target) => atOnce(20, () => pipeline(target, "GET /health HTTP/1.1\r\nhost: x\r\n\r\n", 5_000)),
  },
  {
    name: "pipelined-queries",
    what: "2,000 small queries over each of 10 connections, without waiting for responses",
    seconds: 60,
    run: (target) => {
      const body = '{"query":"{ domains(first: 3) { id name } }"}';
      const head = `POST /subgraph HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
      return atOnce(10, () => pipeline(target, `${head}\r\n\r\n${body}`, 2_000));
    },
  },
  {
    name: "unfinished-bodies",
    what: "400 bodies of which 999,000 of 1,000,000 bytes arrive, and no more for 15 s",
    seconds: 30,
    run: (target) => unfinishedBodies(target, "/subgraph"),
  },
];

/** 400 bodies of 1,000,000 bytes at once, whose last 1,000 never arrive; each connection ends after 15 s. */
export function unfinishedBodies(target: Target, path: string): Promise<Reply[]> {
  const head = `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n`;
  return atOnce(400, async () => {
    const one = await open(target, head + megabyte.slice(1_000));
    await pause(target, 15_000);
    return one.close("unfinished body");
  });
}

/** Sends a request `count` times over one connection at once, and waits until all are answered or the connection ends. */
export async function pipeline(target: Target, bytes: string, count: number): Promise<Reply> {
  const started = performance.now();
  const socket = connect({ port: target.port, host: "127.0.0.1", localAddress: target.from });
  let answered = 0;
  let tail = "";
  await new Promise<void>((resolve) => {
    socket.setEncoding("latin1").on("data", (data: string) => {
      const text = tail + data;
      answered += text.split("HTTP/1.1 ").length - 1;
      tail = text.slice(Math.max(0, text.length - 8));
      if (answered === count) resolve();
    });
    socket.on("error", () => undefined); // "close" follows.
    socket.on("close", resolve);
    target.ends.addEventListener("abort", () => resolve(), { once: true });
    socket.write(bytes.repeat(count));
  });
  socket.destroy();
  const status = answered === count ? "all answered" : "some answered";
  return { status, ms: performance.now() - started, bytes: socket.bytesRead };
}

function open({ port, from }: Target, head: string): Promise<{ socket: Socket; close(kind: string): Reply }> {
  const started = performance.now();
  const socket = connect({ port, host: "127.0.0.1", localAddress: from });
  let ended: string | undefined;
  let endedAt = 0;
  const end = (how: string) => {
    ended ??= how;
    endedAt ||= performance.now();
  };
  socket.on("data", (data) => end(data.toString("latin1", 9, 12)));
  socket.on("error", (error: NodeJS.ErrnoException) => end(error.code ?? "error"));
  socket.on("close", () => end("closed"));
  const close = (kind: string): Reply => {
    const status = `${kind}: ${ended ?? "still open"}`;
    const ms = (ended === undefined ? performance.now() : endedAt) - started;
    socket.destroy();
    return { status, ms, bytes: socket.bytesRead };
  };
  return new Promise((resolve) => {
    const opened = () => resolve({ socket, close });
    socket.once("error", opened);
    socket.once("connect", () => {
      if (head !== "") socket.write(head);
      opened();
    });
  });
}
