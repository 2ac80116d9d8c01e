import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { events } from "../src/api/v1/history.ts";
import { lookup } from "../src/api/v1/lookup.ts";
import { namespaces } from "../src/deployments/namespaces.ts";
import { openFeed } from "../src/feed/follow.ts";
import type { SqlView } from "../src/operations/sql-views.ts";
import { indexedNamespaces } from "../src/read/names/indexed-namespaces.ts";
import { knownContracts } from "../src/read/names/known-contracts.ts";
import { createNamesSource } from "../src/read/names/lookups.ts";
import { createDatabase } from "../src/read/sql/client.ts";
import type { TestDatabase } from "../test/support/database.ts";
import { currentStatus, openEndpoints } from "../test/support/endpoints.ts";
import { createRecordedDatabase, headBlock } from "../test/support/subgraph/endpoint.ts";
import { type Format, formats, type ViewFile, writeViewFile } from "./export/files.ts";
import { readView, type Settings } from "./export/snapshot.ts";
import { exportProgram, exportView } from "./export.ts";

const plugins = ["subgraph"] as const;
const config = {
  namespace: "mainnet",
  plugins,
  databaseSchema: "public",
  chains: [{ id: 1 }],
} as unknown as Settings;

let client: TestDatabase;
let folder: string;
beforeAll(async () => {
  client = await createRecordedDatabase();
  // Events of the recording, as an index with their times has them.
  for (const table of ["domain_event", "registration_event", "resolver_event"])
    await client.exec(`UPDATE ${table} SET timestamp = 1600000000 + block_number * 12,
      log_index = substring(id FROM '-(\\d+)')::int WHERE timestamp IS NULL`);
  // As an operator may set it for a database.
  await client.exec("SET DateStyle TO 'SQL, DMY'");
  folder = mkdtempSync(join(tmpdir(), "export-"));
});
afterAll(async () => {
  await client?.close();
  rmSync(folder, { recursive: true, force: true });
});

type Values = Record<string, unknown>;

async function write(what: SqlView, format: Format) {
  const output = join(folder, `${what}.${format}`);
  const message = await exportView((text, values) => client.query(text, values), config, {
    what,
    format,
    output,
  });
  return { output, message };
}

function open() {
  const context = {
    plugins,
    status: { current: () => currentStatus("omnichain-following", headBlock.timestamp) },
    lookup: {
      ...createNamesSource({
        database: createDatabase(client),
        namespaces: indexedNamespaces(namespaces.mainnet, plugins),
        hasRecords: false,
      }),
      hashOf: () => undefined,
      known: knownContracts(namespaces.mainnet),
    },
    feed: openFeed({
      source: { database: createDatabase(client), namespaces: [], times: () => [] },
      log: () => undefined,
    }),
  };
  return openEndpoints([lookup, events], context);
}

const readLines = (file: string) =>
  readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Values);

// RFC 4180: a quoted field may hold line breaks.
const unbroken = (csv: string) =>
  csv.replaceAll(/"(?:[^"]|"")*"/g, (field) => field.replaceAll(/[\r\n]/g, " "));

const secondsOf = (time: unknown) => (time === null ? null : String(Date.parse(String(time)) / 1_000));

describe("rows agree with those of the API", () => {
  test("names", async () => {
    const { output, message } = await write("names", "ndjson");
    const rows = readLines(output);
    expect(message).toBe(
      `Wrote ${rows.length} names to ${output}, as of block ${headBlock.number} of chain 1.`,
    );
    const { ask } = open();
    let compared = 0;
    for (let start = 0; start < rows.length; start += 500) {
      const part = rows.slice(start, start + 500);
      const body = JSON.stringify({ inputs: part.map(({ name }) => ({ name })) });
      const { body: answer } = await ask("/v1/lookup", { method: "POST", body });
      for (const [at, { record }] of (answer as { data: { record?: Values }[] }).data.entries()) {
        const row = part[at] ?? {};
        // Of subgraph mode: names that no request can write.
        if (record === undefined || record["namehash"] !== row["node"]) continue;
        compared += 1;
        expect(secondsOf(row["created_at"])).toBe(record["created_at"]);
        // Without a lease a name may have dates of the name wrapper.
        if (row["registered_at"] === null) continue;
        expect(secondsOf(row["registered_at"])).toBe(record["registered_at"]);
        if (record["expires_at"]) expect(secondsOf(row["expires_at"])).toBe(record["expires_at"]);
      }
    }
    expect(compared).toBeGreaterThan(0.85 * rows.length);
  });

  test("events", async () => {
    const { output } = await write("events", "ndjson");
    const rows = readLines(output);
    const found: Values[] = [];
    const { ask } = open();
    let cursor = "";
    do {
      const { body } = await ask(`/v1/events?include=data,raw&page_size=200${cursor}`);
      const { data, page } = body as { data: Values[]; page: { next_cursor: string | null } };
      found.push(...data);
      cursor = page.next_cursor === null ? "" : `&cursor=${page.next_cursor}`;
    } while (cursor !== "");
    expect(rows.length).toBeGreaterThan(5_000);
    const keyOf = ({ block, log, kind, node }: Record<string, unknown>) => [block, log, kind, node].join(" ");
    const ofFile = rows.map((row) =>
      keyOf({ block: row["block_number"], log: row["log_index"], kind: row["kind"], node: row["node"] }),
    );
    const ofApi = found.map((row) =>
      keyOf({ block: row["block_number"], log: row["log_index"], kind: row["kind"], node: row["namehash"] }),
    );
    // The file also has what /v1 leaves out: an address that is said twice, times to live.
    const inFile = new Set(ofFile);
    expect(inFile.size).toBe(rows.length);
    expect(ofApi.filter((key) => !inFile.has(key))).toEqual([]);
  });
});

test("every form of file holds the same rows, and says the block", async () => {
  const blocks = { "1": { block_number: headBlock.number, timestamp: String(headBlock.timestamp) } };
  const { output: lines } = await write("registrations", "ndjson");
  const rows = readLines(lines);
  const costs = rows.flatMap(({ cost }) => (cost === null ? [] : BigInt(String(cost))));
  expect(costs.length).toBeGreaterThan(100);
  expect(JSON.parse(readFileSync(`${lines}.meta.json`, "utf8"))).toEqual({
    contract: "nsindex_v1",
    what: "registrations",
    rows: rows.length,
    blocks,
  });

  const { output: parquet } = await write("registrations", "parquet");
  const file = await asyncBufferFromFile(parquet);
  const metadata = await parquetMetadataAsync(file);
  expect(metadata.key_value_metadata).toEqual(
    expect.arrayContaining([
      { key: "contract", value: "nsindex_v1" },
      { key: "what", value: "registrations" },
      { key: "blocks", value: JSON.stringify(blocks) },
    ]),
  );
  // Times and amounts are such, so that readers compare and add them up.
  const column = (name: string) => metadata.schema.find((one) => one.name === name);
  expect(column("expires_at")?.converted_type).toBe("TIMESTAMP_MILLIS");
  expect(column("cost")).toMatchObject({ converted_type: "DECIMAL", precision: 38, scale: 0 });
  const stored = await parquetReadObjects({ file });
  // The reader takes the first character of a text for a mark of byte order.
  const withoutMarks = (row: Values) => JSON.parse(JSON.stringify(row).replaceAll("\ufeff", ""));
  // It reads amounts as floats.
  const rounded = ({ cost, ...row }: Values) => ({ ...row, cost: cost === null ? null : Number(cost) });
  expect(stored.map((row) => rounded(JSON.parse(JSON.stringify(row))))).toEqual(
    rows.map((row) => rounded(withoutMarks(row))),
  );

  const { output: csv } = await write("registrations", "csv");
  const [header = "", ...others] = unbroken(readFileSync(csv, "utf8")).trimEnd().split("\n");
  expect(header).toBe(Object.keys(rows[0] ?? {}).join(","));
  expect(others).toHaveLength(rows.length);
  const plain = rows.findIndex((row) => Object.values(row).every((value) => !/[",\s]/.test(String(value))));
  expect(others[plain]).toBe(
    Object.values(rows[plain] ?? {})
      .map((value) => value ?? "")
      .join(","),
  );
  expect(JSON.parse(readFileSync(`${csv}.meta.json`, "utf8"))).toMatchObject({ blocks });
});

test("without rows a file has its columns", async () => {
  const file = readView((text, values) => client.query(text, values), "public", {
    what: "registrations",
    blocks: {},
  });
  const columns = Object.keys(file.columns);
  for (const format of formats)
    await writeViewFile(join(folder, `none.${format}`), format, { ...file, rows: (async function* () {})() });
  const parquet = await asyncBufferFromFile(join(folder, "none.parquet"));
  const { schema, num_rows } = await parquetMetadataAsync(parquet);
  expect([num_rows, schema.slice(1).map(({ name }) => name)]).toEqual([0n, columns]);
  expect(readFileSync(join(folder, "none.csv"), "utf8")).toBe(`${columns.join(",")}\n`);
  expect(readFileSync(join(folder, "none.ndjson"), "utf8")).toBe("");
});

test("an index that is not complete, or not there, is no file", async () => {
  const empty = { ...config, databaseSchema: "elsewhere" };
  const output = join(folder, "elsewhere.csv");
  const written = exportView((text, values) => client.query(text, values), empty, {
    what: "names",
    format: "csv",
    output,
  });
  await expect(written).rejects.toThrow('Schema "elsewhere" has no index of names.');
  await client.exec(`UPDATE _ponder_meta SET value = '{"is_ready": 0}'`);
  await expect(write("names", "csv")).rejects.toThrow("is not complete yet");
  await client.exec("ROLLBACK");
  await client.exec(`UPDATE _ponder_meta SET value = '{"is_ready": 1}'`);
  expect(existsSync(join(folder, "names.csv"))).toBe(false);
});

test("needs to know what to write, and keeps a file that is there", async () => {
  const incomplete = exportProgram.parseAsync(["--format", "csv"], { from: "user" });
  await expect(incomplete).rejects.toThrow("Add --what and --format");
  const output = join(folder, "there.csv");
  writeFileSync(`${output}.meta.json`, "{}");
  const args = ["--what", "names", "--format", "csv", "--output", output];
  await expect(exportProgram.parseAsync(args, { from: "user" })).rejects.toThrow(
    "there.csv.meta.json exists already",
  );
});

// OWASP, "CSV Injection": what a spreadsheet takes for a formula.
const hostile = [
  '=HYPERLINK("http://evil.example")',
  "+1",
  "-1",
  "@SUM(A1)",
  "\t=1",
  "\r=1",
  "a\0b",
  "\u001b[2J",
  "é=1",
];

async function writeValues(format: Format) {
  const output = join(folder, `hostile.${format}`);
  async function* rows() {
    for (const name of hostile) yield { name, seconds: -1n };
  }
  const columns: ViewFile["columns"] = { name: "STRING", seconds: "INT64" };
  await writeViewFile(output, format, { what: "names", blocks: {}, columns, rows: rows() });
  return output;
}

test("no value of a CSV file is a formula for a spreadsheet", async () => {
  const lines = readFileSync(await writeValues("csv"), "utf8").split("\n");
  expect(lines[1]).toBe(`"'=HYPERLINK(""http://evil.example"")",-1`);
  expect(lines.slice(2, 5)).toEqual(["'+1,-1", "'-1,-1", "'@SUM(A1),-1"]);
  expect(lines.slice(5).join("\n")).toBe(`'\t=1,-1\n"'\r=1",-1\na\0b,-1\n\u001b[2J,-1\né=1,-1\n`);
});

test.each(["parquet", "ndjson"] as const)(
  "%s files carry NUL and control characters as they are",
  async (format) => {
    const output = await writeValues(format);
    const rows =
      format === "ndjson"
        ? readLines(output)
        : await parquetReadObjects({ file: await asyncBufferFromFile(output) });
    expect(rows.map(({ name }) => name)).toEqual(hostile);
  },
);
