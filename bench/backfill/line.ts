import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { pipeline } from "node:stream/promises";
import { setTimeout as wait } from "node:timers/promises";

const delayMs = 20;

/**
 * A line to the server at `target`, which passes so many megabits a second with a delay, 0 as many as there are. Counts
 * the bytes that come back.
 */
export async function startLine(target: string, megabits: number) {
  const { hostname, port } = new URL(target);
  let [received, freeAt] = [0, 0];
  async function* slowed(chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      received += chunk.length;
      const now = performance.now();
      // A line in use brings one chunk right after another.
      if (megabits > 0) freeAt = Math.max(freeAt, now + delayMs) + chunk.length / (megabits * 125);
      if (megabits > 0) await wait(freeAt - now);
      yield chunk;
    }
  }
  const server = createServer((client) => {
    const remote = connect(Number(port), hostname);
    // A closed connection ends both ways.
    void Promise.allSettled([pipeline(client, remote), pipeline(remote, slowed, client)]);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: () => received,
    close: () => server.close(),
  };
}
