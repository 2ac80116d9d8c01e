import { isUtf8 } from "node:buffer";
import { digestOf } from "../../src/ens/keccak.ts";
import { escapeControls } from "../../src/log.ts";
import type { LabelParser, RowSink } from "../formats/parser.ts";
import type { Spill } from "./label-sorter.ts";

/** What became of the rows of an input so far. */
export type IntakeCounts = {
  accepted: number;
  invalid: number;
  ignored: number;
  endingInCarriageReturn: number;
};

export const noRows: IntakeCounts = { accepted: 0, invalid: 0, ignored: 0, endingInCarriageReturn: 0 };

/** A row that was not accepted, or was passed over on purpose. */
export type Remark = { position: string; reason: string };

/**
 * Checks each row: the label is valid UTF-8, and the labelhash that came with it (if any) is its keccak-256.
 * Good rows go to `spill` and are counted in `counts`; others are handed to `onInvalid` and `onIgnored`.
 */
export function createIntake({
  spill,
  counts,
  position,
  onInvalid,
  onIgnored,
}: {
  spill: Pick<Spill, "add">;
  counts: IntakeCounts;
  position: LabelParser["position"];
  onInvalid: (remark: Remark) => void;
  onIgnored: (remark: Remark) => void;
}): RowSink {
  const invalid = (reason: string) => {
    counts.invalid++;
    onInvalid({ position: position(), reason });
  };

  return {
    label: (bytes, start, end, given) => {
      if (!isAscii(bytes, start, end) && !isUtf8(bytes.subarray(start, end))) {
        invalid("the label is not valid UTF-8");
        return;
      }
      const digest = digestOf(bytes, start, end);
      if (given !== undefined && !isSame(given, digest)) {
        const label = escapeControls(
          JSON.stringify(bytes.toString("utf8", start, Math.min(end, start + 200))),
        );
        invalid(`the labelhash is not that of the label ${label}, which has 0x${digest.toString("hex")}`);
        return;
      }
      counts.accepted++;
      if (end > start && bytes[end - 1] === 0x0d) counts.endingInCarriageReturn++;
      spill.add(digest, bytes, start, end);
    },
    invalid,
    ignored: (reason) => {
      counts.ignored++;
      onIgnored({ position: position(), reason });
    },
  };
}

function isAscii(bytes: Buffer, start: number, end: number): boolean {
  let bits = 0;
  for (let i = start; i < end; i++) bits |= bytes[i] ?? 0;
  return bits < 0x80;
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  let difference = one.length ^ other.length;
  for (let i = 0; i < other.length; i++) difference |= (one[i] ?? 0) ^ (other[i] ?? 0);
  return difference === 0;
}
