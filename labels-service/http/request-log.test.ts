import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { createJsonLog } from "../../src/log/json-log.ts";
import { createLiveDatabase } from "../store/live-database.ts";
import { createLabelsServer } from "./server.ts";

test("logs one line for each request when asked to, control characters escaped", async () => {
  const lines: string[] = [];
  const log = createJsonLog({ write: (line) => lines.push(line) }, () => new Date(0));
  const database = createLiveDatabase("/nowhere/labels.sqlite", log);
  const server = createLabelsServer({ database, log, now: () => new Date(0), logsRequests: true });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await fetch(`http://127.0.0.1:${port}/v1/heal/%0A?x`);
  await fetch(`http://127.0.0.1:${port}/health`);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  expect(lines.map((line) => ({ ...JSON.parse(line), microseconds: 0 }))).toEqual([
    {
      time: "1970-01-01T00:00:00.000Z",
      level: "info",
      message: "request",
      method: "GET",
      path: "/v1/heal/%0A",
      status: 503,
      microseconds: 0,
    },
    {
      time: "1970-01-01T00:00:00.000Z",
      level: "info",
      message: "request",
      method: "GET",
      path: "/health",
      status: 200,
      microseconds: 0,
    },
  ]);
});
