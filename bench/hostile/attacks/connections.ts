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
    threat: "F3",
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
    threat: "F7",
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
    threat: "F7",
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
    threat: "F7",
    what: "150 pages of GraphiQL (8.9 MB each) that nobody reads, for 15 s",
    seconds: 30,
    run: (target) =>
      atOnce(150, () =>
        send(target, { path: "/subgraph", headers: { accept: "text/html" }, unreadForMs: 15_000 }),
      ),
  },
  {
    name: "unread-responses",
    threat: "F7",
    what: "20 responses of 57 MB that nobody reads, for 15 s",
    seconds: 45,
    run: (target) => atOnce(20, () => query(target, large, undefined, { unreadForMs: 15_000 })),
  },
  {
    name: "slow-bodies",
    threat: "F7",
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
    name: "broken-off-posts",
    threat: "F10",
    what: "1,000 POSTs that end in the middle of their bodies",
    seconds: 20,
    run: (target) =>
      inRounds(target, 20, () =>
        atOnce(50, async () => {
          const head =
            'POST /subgraph HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"query":';
          const one = await open(target, head);
          await pause(target, 20);
          return one.close("broken off");
        }),
      ),
  },
  {
    name: "forged-paths",
    threat: "F8",
    what: "paths and parameters with escape codes, line feeds and backslashes",
    seconds: 20,
    run: (target) => {
      const nasty = encodeURIComponent('\u001b[31m\u001b]0;title\u0007\r\n{"level":60,"msg":"forged"}');
      const paths = [
        "/",
        "/api/name-tokens?name=",
        "/api/resolve/records/",
        "/subgraph?query=",
        "/amirealtime?x=",
      ];
      return inRounds(target, 10, () =>
        atOnce(paths.length, (place) => send(target, { path: `${paths[place]}${nasty}` })),
      );
    },
  },
];

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
