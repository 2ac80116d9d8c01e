import { digestLength } from "../../src/ens/keccak.ts";
import type { LabelFile, ShortHeal } from "../../src/labels/label-file.ts";

/** Labels are looked up in pieces, so that other requests get their turn in between. */
const healedAtOnce = 500;
const sentAtOnce = 2000;
/** Labels of more bytes are read only when they are sent. */
const heldLength = 1000;
/** Bytes of such labels after which a piece ends. */
const pieceLength = 256 * 1024;

/** The labels of a list of labelhashes; the long ones are still in the file. */
export type HealedList = {
  /** Bytes of all labels together; those of short ones as UTF-16 units. */
  bytes: number;
  /** The most bytes of labels in memory while the pieces are read one after another. */
  heldBytes: number;
  /** The labels in order, undefined where there is none, up to 2000 at a time. */
  pieces(): Generator<(string | undefined)[]>;
};

/**
 * Heals labelhashes, which are given as their bytes one after another. They are looked up in the order of the file, which
 * saves a fifth of the time.
 */
export async function healList(
  file: LabelFile,
  digests: Uint8Array,
  highestVersion: number,
): Promise<HealedList> {
  const order = inOrderOfKeys(digests);
  const labels = new Array<ShortHeal>(order.length);
  let [shortBytes, longBytes, longest] = [0, 0, 0];
  for (let start = 0; start < order.length; start += healedAtOnce) {
    const places = order.subarray(start, start + healedAtOnce);
    const healed = file.healShort(digests, highestVersion, places, heldLength);
    for (let i = 0; i < places.length; i++) {
      const label = healed[i];
      labels[places[i] ?? 0] = label;
      if (typeof label === "number") {
        longBytes += label;
        longest = Math.max(longest, label);
      } else if (label !== undefined) shortBytes += label.length;
    }
    await new Promise(setImmediate);
  }
  const healAt = (place: number) =>
    file.healAll(digests.subarray(place * digestLength, (place + 1) * digestLength), highestVersion)[0];
  return {
    bytes: shortBytes + longBytes,
    heldBytes: shortBytes + (longest === 0 ? 0 : Math.max(longest, pieceLength)),
    pieces: () => piecesOf(labels, healAt),
  };
}

function* piecesOf(
  labels: ShortHeal[],
  healAt: (place: number) => string | undefined,
): Generator<(string | undefined)[]> {
  let piece: (string | undefined)[] = [];
  let length = 0;
  for (let place = 0; place < labels.length; place++) {
    const label = labels[place];
    if (typeof label === "number") length += label;
    piece.push(typeof label === "number" ? healAt(place) : label);
    if (piece.length < sentAtOnce && length < pieceLength) continue;
    yield piece;
    piece = [];
    length = 0;
  }
  if (piece.length > 0) yield piece;
}

/** Places of the digests in the order of their first 12 bits, which is close enough to that of the file. */
function inOrderOfKeys(digests: Uint8Array): Uint32Array {
  const count = digests.length / digestLength;
  const bitsAt = (i: number) =>
    ((digests[i * digestLength] ?? 0) << 4) | ((digests[i * digestLength + 1] ?? 0) >> 4);
  const next = new Uint32Array(4097);
  for (let i = 0; i < count; i++) next[bitsAt(i) + 1] = (next[bitsAt(i) + 1] ?? 0) + 1;
  for (let bits = 1; bits < 4096; bits++) next[bits] = (next[bits] ?? 0) + (next[bits - 1] ?? 0);
  const order = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    const place = next[bitsAt(i)] ?? 0;
    order[place] = i;
    next[bitsAt(i)] = place + 1;
  }
  return order;
}
