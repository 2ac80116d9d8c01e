import { connect, type Socket } from "node:net";
import { quantile } from "../measure.ts";

/** A request as it is sent over a connection. */
export function formatRequest(method: "GET" | "POST", path: string, body = ""): string {
  const content = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nhost: localhost\r\n${body && content}\r\n${body}`;
}

/** Result of a load run. Latencies are in milliseconds. */
export type LoadResult = Awaited<ReturnType<typeof load>>;

/**
 * Keeps `connections` connections busy for `seconds`, each with one request at a time, and calls `next` for the bytes
 * of each request. With one connection this process does not sleep while it waits: waking up would be a large part of
 * the measured time.
 */
export async function load(
  port: number,
  { connections, seconds, next }: { connections: number; seconds: number; next: () => string },
) {
  const latencies: number[] = [];
  const statuses: Record<string, number> = {};
  const started = performance.now();
  const end = started + seconds * 1000;
  const drivers = Array.from({ length: connections }, () => drive({ port, next, end, latencies, statuses }));
  let isOver = connections > 1;
  const stayAwake = () => {
    if (!isOver) setImmediate(stayAwake);
  };
  stayAwake();
  await Promise.all(drivers);
  isOver = true;
  const elapsed = (performance.now() - started) / 1000;
  const [p50 = 0, p95 = 0, p99 = 0] = [0.5, 0.95, 0.99].map((share) => quantile(latencies, share));
  return { requests: latencies.length, perSecond: latencies.length / elapsed, p50, p95, p99, statuses };
}

type Drive = {
  port: number;
  next: () => string;
  end: number;
  latencies: number[];
  statuses: Record<string, number>;
};

function drive({ port, next, end, latencies, statuses }: Drive): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ port, host: "127.0.0.1", noDelay: true });
    let received = "";
    let since = 0;
    const send = () => {
      since = performance.now();
      if (since >= end) socket.end();
      else socket.write(next());
    };
    socket.setEncoding("latin1");
    socket.on("connect", send);
    socket.on("error", reject);
    socket.on("close", () => resolve());
    socket.on("data", (data: string) => {
      received = received === "" ? data : received + data;
      if (!isComplete(received)) return;
      latencies.push(performance.now() - since);
      const status = received.slice(9, 12);
      statuses[status] = (statuses[status] ?? 0) + 1;
      received = "";
      send();
    });
  });
}

function isComplete(text: string): boolean {
  const head = text.indexOf("\r\n\r\n");
  if (head < 0) return false;
  const length = /content-length: (\d+)/i.exec(text.slice(0, head))?.[1];
  return length === undefined ? text.endsWith("0\r\n\r\n") : text.length >= head + 4 + Number(length);
}
