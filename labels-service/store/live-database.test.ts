import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { labelhash } from "../../src/ens/labels.ts";
import { ingestBytes } from "../../test/support/labels/commands.ts";
import { createLiveDatabase } from "./live-database.ts";

let folder: string;
let path: string;
let lines: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "live-"));
  path = join(folder, "labels.sqlite");
  lines = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = () => createLiveDatabase(path, (level, message) => void lines.push(`${level} ${message}`));
const ingest = (text: string) => ingestBytes(text, { databasePath: path });

describe("live database", () => {
  test("keeps serving the old database when the new file is unusable or missing", async () => {
    await ingest("eth\n");
    const database = open();
    database.reload({ isForced: false });
    writeFileSync(join(folder, "bad"), "this is no database");
    renameSync(join(folder, "bad"), path);
    for (let i = 0; i < 3; i++) database.reload({ isForced: false });
    expect(database.current()?.heal(labelhash("eth"), 0)).toBe("eth");
    rmSync(path);
    database.reload({ isForced: false });
    expect(database.current()?.heal(labelhash("eth"), 0)).toBe("eth");
    expect(database.counts).toEqual({ attached: 1, failed: 1 });
    expect(lines).toEqual([
      "info label database attached",
      "error label database refused",
      "warn label database is missing, still serving the previous one",
    ]);
    database.close();
  });
});
