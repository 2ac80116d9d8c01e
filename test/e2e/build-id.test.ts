import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { batchOf, createLabelDatabase } from "../../labels-service/store/database-writer.ts";
import { startWorld, type World } from "../support/world.ts";

// An index started under one setting must not continue under another: it would mix both.

let world: World;
beforeAll(async () => {
  world = await startWorld({ head: 60, environment: { SUBGRAPH_COMPAT: "false" } });
  world.start();
  await world.waitForIndex();
  await world.stop();
});
afterAll(() => world?.close());

test("settings that do not determine rows keep the index", async () => {
  const service = world.start({ LOG_LEVEL: "warn", RPC_REQUESTS_PER_SECOND: "300" });
  await world.waitForIndex();
  expect(service.ending()).toBeUndefined();
  await world.stop();
});

test("another mode is rejected", async () => {
  const service = world.start({ SUBGRAPH_COMPAT: "true" });
  expect(await service.ended).toEqual({ code: 1, signal: undefined });
  expect(service.lastLines(50).join("\n")).toContain("previously used by a different Ponder app");
});

test("another label set is rejected", async () => {
  const path = join(world.folder, "other.sqlite");
  const writer = createLabelDatabase(path, "other-set");
  writer.add(batchOf(["eth"]));
  writer.finish(new Date());
  const service = world.start({ LABELS_URL: `file:${path}`, LABEL_SET_ID: "other-set" });
  expect(await service.ended).toEqual({ code: 1, signal: undefined });
  expect(service.lastLines(50).join("\n")).toContain("previously used by a different Ponder app");
});
