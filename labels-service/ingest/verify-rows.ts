import { isUtf8 } from "node:buffer";
import { digestOf } from "../../src/ens/keccak.ts";
import { escapeControls } from "../../src/log/json-log.ts";
import type { LabelParser, RowSink } from "../formats/parser.ts";
import type { LabelSorter } from "./label-sorter.ts";

/** How many rows of an input were accepted or not so far, and how many accepted labels end in a carriage return. */
export type RowCounts = {
  accepted: number;
  invalid: number;
  ignored: number;
  endingInCarriageReturn: number;
};

/** The counts before the first row. */
export const noRows: RowCounts = { accepted: 0, invalid: 0, ignored: 0, endingInCarriageReturn: 0 };

/** Why a row was not accepted, or was ignored on purpose. */
export type Remark = { position: string; reason: string };

/**
 * Checks each row: the label must be valid UTF-8, and the labelhash given with it (if any) its keccak-256. Labels go to
 * `sorter`; other rows are passed to `onInvalid` and `onIgnored`. All are counted in `counts`.
 */
export function createRowVerifier({
  sorter,
  counts,
  position,
  onInvalid,
  onIgnored,
}: {
  sorter: Pick<LabelSorter, "add">;
  counts: RowCounts;
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
      sorter.add(digest, bytes, start, end);
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
