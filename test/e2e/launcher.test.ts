import { spawn } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startIndexingService } from "../../devnet/indexing-service.ts";
import { freePort, isPortFree } from "../../devnet/ports.ts";
import { waitFor } from "../../devnet/wait.ts";
import { startWorld, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld({ head: 60 });
});
afterAll(() => world?.close());

test("when npm is killed, nothing that it started stays behind", async () => {
  const npm = spawn("npm", ["start"], { env: world.environment, stdio: "ignore", detached: true });
  await waitFor("the index", () => isReady(world.url));
  npm.kill("SIGKILL");
  await waitFor("the port to be free", async () =>
    (await isPortFree(world.port)) ? { done: true } : { state: "in use" },
  );
});

test("a second indexer says at once that it waits and for whom, and takes over when the first stops", async (context) => {
  context.skip(!("DATABASE_URL" in world.environment), "Postgres is not installed");
  world.start();
  await world.waitForIndex();
  const port = await freePort();
  const second = startIndexingService({
    cwd: world.folder,
    env: { ...world.environment, PORT: String(port) },
  });
  await waitFor("a line that says so", async () => {
    const line = second.lastLines().find((text) => text.includes("Another indexer holds schema"));
    return line === undefined ? { state: second.lastLines(3).join("\n") } : { done: line };
  }).then((line) => expect(line).toContain('schema "public", connected from 127.0.0.1; it was active'));
  await world.stop();
  await waitFor("the second index", () => isReady(`http://127.0.0.1:${port}`));
  await second.stop();
});

async function isReady(url: string) {
  const status = await fetch(`${url}/ready`).then(({ status }) => status, String);
  return status === 200 ? { done: true } : { state: `/ready: ${status}` };
}
