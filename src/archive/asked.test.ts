import { expect, test } from "vitest";
import { forgetAsked, missingIn, noteAsked, unaskedPieces } from "./asked.ts";
import { type Manifest, newManifest, parseManifest } from "./manifest.ts";

const chainId = 7;
const proof = { bloom: 0, header: 0, receipts: 0 };

/** A manifest with empty segments of some ranges. */
function manifestOf(...ranges: [from: number, to: number][]): Manifest {
  const rest = { filters: [0], blocks: 0, logs: 0, bytes: 0, unpacked: 0, proof };
  const segments = ranges.map(([from, to]) => ({ ...rest, hash: "0".repeat(64), from, to }));
  return { ...newManifest(chainId), filters: [{ addresses: null, topics: null }], segments };
}

const piecesOf = (manifest: Manifest, from: number, to: number) =>
  unaskedPieces(manifest, { from, to }).map((piece) => [piece.from, piece.to]);

test("blocks are to be asked about where there are segments, by these, and once", () => {
  const manifest = manifestOf([0, 9], [10, 19], [5, 14], [30, 39]);
  const all = [
    [0, 4],
    [5, 9],
    [10, 14],
    [15, 19],
    [30, 39],
  ];
  expect(piecesOf(manifest, 0, 100)).toEqual(all);
  expect(piecesOf(manifest, 7, 12)).toEqual([
    [7, 9],
    [10, 12],
  ]);
  noteAsked(manifest, { from: 10, to: 14 }, 0);
  noteAsked(manifest, { from: 32, to: 33 }, 5);
  expect(piecesOf(manifest, 0, 100)).toEqual([
    ...[all[0], all[1], all[3]],
    ...[
      [30, 31],
      [34, 39],
    ],
  ]);
  expect(missingIn(manifest)).toBe(5);
});

test("neighbouring ranges are one, unless results of one are missing; more logs take a range off", () => {
  const manifest = manifestOf([0, 99]);
  noteAsked(manifest, { from: 20, to: 29 }, 0);
  noteAsked(manifest, { from: 0, to: 9 }, 0);
  noteAsked(manifest, { from: 10, to: 19 }, 0);
  noteAsked(manifest, { from: 30, to: 39 }, 2);
  const without = { from: 0, to: 29, missing: 0 };
  expect(manifest.asked).toEqual([without, { from: 30, to: 39, missing: 2 }]);
  noteAsked(manifest, { from: 30, to: 39 }, 0);
  expect(manifest.asked).toEqual([{ ...without, to: 39 }]);
  forgetAsked(manifest, { from: 5, to: 6 });
  expect(manifest.asked).toEqual([
    { from: 0, to: 4, missing: 0 },
    { from: 7, to: 39, missing: 0 },
  ]);
  expect(parseManifest(JSON.stringify(manifest), chainId)).toEqual(manifest);
  noteAsked(manifest, { from: 50, to: 59 }, 1);
  forgetAsked(manifest, { from: 59, to: 70 });
  expect(manifest.asked?.at(-1)).toEqual({ from: 50, to: 58, missing: 1 });
});

test.each<[string, unknown]>([
  ["is no list", { from: 0, to: 1 }],
  ["has a range that ends before it begins", [{ from: 2, to: 1, missing: 0 }]],
  [
    "has ranges out of order",
    [
      { from: 5, to: 6, missing: 0 },
      { from: 1, to: 2, missing: 0 },
    ],
  ],
  [
    "has ranges that overlap",
    [
      { from: 1, to: 6, missing: 0 },
      { from: 6, to: 9, missing: 0 },
    ],
  ],
  ["has negative blocks", [{ from: -1, to: 6, missing: 0 }]],
  ["has no whole numbers", [{ from: 0, to: 1.5, missing: 0 }]],
  ["has numbers without end", [{ from: 0, to: 1e300, missing: 0 }]],
  ["has texts", [{ from: "0", to: 1, missing: 0 }]],
  ["lacks a count", [{ from: 0, to: 1 }]],
  ["has other fields", [{ from: 0, to: 1, missing: 0, more: 1 }]],
  ["is null", null],
])("a manifest is refused whose list of what was asked %s", (_, asked) => {
  const manifest = manifestOf([0, 99]);
  expect(() => parseManifest(JSON.stringify({ ...manifest, asked }), chainId)).toThrow(
    /^manifest.json: asked/,
  );
  // Older ones have none.
  expect(parseManifest(JSON.stringify(manifest), chainId).asked).toBeUndefined();
});
