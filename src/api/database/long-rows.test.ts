import { EventEmitter } from "node:events";
import { describe, expect, test } from "vitest";
import { takeLongRows } from "./long-rows.ts";

// Messages as Postgres sends them (protocol 3.0, "Message Formats"): a letter, the length with its own four bytes, the content.
function message(letter: string, content: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(letter);
  head.writeUInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
}

function dataRow(columns: readonly (string | null)[]): Buffer {
  const count = Buffer.alloc(2);
  count.writeInt16BE(columns.length);
  const parts = columns.flatMap((column) => {
    const text = Buffer.from(column ?? "");
    const length = Buffer.alloc(4);
    length.writeInt32BE(column === null ? -1 : text.length);
    return [length, text];
  });
  return message("D", Buffer.concat([count, ...parts]));
}

const before = Buffer.concat([message("1", Buffer.alloc(0)), message("2", Buffer.alloc(0))]);
const after = Buffer.concat([message("C", Buffer.from("SELECT 1\0")), message("Z", Buffer.from("I"))]);
const long = "ä€𝄞".repeat(30_000);

/** A connection, and what the driver is given of what arrives. */
function open() {
  const stream = new EventEmitter();
  const driven: Buffer[] = [];
  let ends = 0;
  stream.on("data", (chunk: Buffer) => driven.push(chunk));
  const rows = takeLongRows({
    connection: { stream },
    query: async () => ({ rows: [] }),
    end: async () => {
      ends += 1;
    },
    release: () => undefined,
  } as unknown as Parameters<typeof takeLongRows>[0]);
  const arrive = (bytes: Buffer, size: number) => {
    for (let at = 0; at < bytes.length; at += size) stream.emit("data", bytes.subarray(at, at + size));
  };
  return { rows, arrive, driven: () => Buffer.concat(driven), ends: () => ends };
}

const texts = (row: ReturnType<ReturnType<typeof takeLongRows>["row"]>) =>
  row?.map((column) =>
    typeof column === "object" && column !== null ? Buffer.concat(column).toString() : column,
  );

describe.each([1, 3, 1_000, 65_536, 10_000_000])("in chunks of %i bytes", (size) => {
  test("a long row is taken out, and the rest is the driver's", () => {
    const { rows, arrive, driven } = open();
    rows.start(1_000_000);
    arrive(Buffer.concat([before, dataRow(["head", null, long, ""]), after]), size);
    expect(driven()).toEqual(Buffer.concat([before, after]));
    expect(texts(rows.row())).toEqual(["head", null, long, ""]);
  });

  test("a short row is the driver's", () => {
    const { rows, arrive, driven } = open();
    const all = Buffer.concat([before, dataRow(["head", null]), after]);
    rows.start(1_000_000);
    arrive(all, size);
    expect([driven(), rows.row()]).toEqual([all, undefined]);
  });

  test("a row that is too long ends the connection before it has arrived", () => {
    const { rows, arrive, driven, ends } = open();
    rows.start(100_000);
    arrive(Buffer.concat([before, dataRow([long]).subarray(0, 20)]), size);
    expect([driven(), rows.row(), rows.isTooLong()]).toEqual([before, undefined, true]);
    expect(ends()).toBeGreaterThan(0);
  });
});

test("leaves everything to the driver while no statement runs", () => {
  const { rows, arrive, driven } = open();
  const all = Buffer.concat([before, dataRow([long]), after]);
  arrive(all, 1_000);
  rows.start(1_000_000);
  arrive(all, 1_000);
  rows.stop();
  arrive(all, 1_000);
  expect(driven().equals(Buffer.concat([all, before, after, all]))).toBe(true);
});
