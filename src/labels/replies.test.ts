import { describe, expect, test } from "vitest";
import type { Reply } from "./http-client.ts";
import { askFacts } from "./replies.ts";

const labelSet = { labelSetId: "subgraph", highestLabelSetVersion: 0 };
const notFound = { status: 404, body: "404 Not Found" };
const ok = (body: unknown) => ({ status: 200, body: JSON.stringify(body) });

const asking =
  (replies: Record<string, Reply>) =>
  async <T>(path: string, read: (reply: Reply) => T) =>
    read(replies[path] ?? notFound);

describe("facts of a label service", () => {
  test.each<
    [string, Record<string, Reply>, { version: string; schemaVersion: number; recordsCount: number }]
  >([
    [
      "this project's service",
      {
        "/v1/version": ok({
          status: "success",
          versionInfo: { version: "0.1.0", dbSchemaVersion: 1, labelSet },
        }),
        "/v1/config": ok({ version: "0.1.0", labelSet, recordsCount: 7 }),
      },
      { version: "0.1.0", schemaVersion: 1, recordsCount: 7 },
    ],
    [
      "ENSRainbow 1.5",
      {
        "/v1/version": ok({
          status: "success",
          versionInfo: { version: "1.5.1", dbSchemaVersion: 3, labelSet },
        }),
        "/v1/labels/count": ok({ status: "success", count: 9, timestamp: "2026-01-01T00:00:00.000Z" }),
      },
      { version: "1.5.1", schemaVersion: 3, recordsCount: 9 },
    ],
    [
      "ENSRainbow 1.10",
      { "/v1/config": ok({ version: "1.10.0", labelSet, recordsCount: 8 }) },
      { version: "1.10.0", schemaVersion: 3, recordsCount: 8 },
    ],
    [
      "ENSRainbow 1.16",
      {
        "/v1/config": ok({ serverLabelSet: labelSet, versionInfo: { ensRainbow: "1.16.0" } }),
        "/v1/labels/count": ok({ status: "success", count: 6, timestamp: "2026-01-01T00:00:00.000Z" }),
      },
      { version: "1.16.0", schemaVersion: 3, recordsCount: 6 },
    ],
  ])("are understood from %s", async (_, replies, expected) => {
    expect(await askFacts(asking(replies))).toEqual({ ...labelSet, ...expected });
  });

  test("are missing where there is no label service", async () => {
    await expect(askFacts(asking({}))).rejects.toThrow("This is no label service");
  });
});
