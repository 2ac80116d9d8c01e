import type { Hex } from "viem";
import { z } from "zod/v4";
import { addressSchema, hexSchema } from "../../ens/schemas.ts";

const nullableText = z.string().nullable();
const byKey = <T extends z.ZodType>(value: T) => z.record(z.string(), value);

/** Records that a request selects; absent ones are not selected. */
export type Selection = Readonly<{
  /** `raw`: also a name that is not normalized. */
  name?: boolean | "raw" | undefined;
  /** Coin types (ENSIP-9, ENSIP-11). */
  addresses?: readonly bigint[] | undefined;
  texts?: readonly string[] | undefined;
  data?: readonly string[] | undefined;
  contenthash?: boolean | undefined;
  pubkey?: boolean | undefined;
  dnszonehash?: boolean | undefined;
  version?: boolean | undefined;
  /** Bit mask of the accepted content types (ENSIP-4). */
  abi?: bigint | undefined;
  interfaces?: readonly Hex[] | undefined;
}>;

/** Schema of the selected records: those not selected are absent, unset ones are null. */
export const recordsSchema = z.strictObject({
  name: nullableText.optional(),
  addresses: byKey(nullableText).optional(),
  texts: byKey(nullableText).optional(),
  data: byKey(nullableText).optional(),
  contenthash: nullableText.optional(),
  pubkey: z
    .strictObject({ x: hexSchema(64), y: hexSchema(64) })
    .nullable()
    .optional(),
  dnszonehash: nullableText.optional(),
  version: nullableText.optional(),
  abi: z.strictObject({ contentType: z.string(), data: z.string() }).nullable().optional(),
  interfaces: byKey(addressSchema.nullable()).optional(),
});

/** Values of the selected records. */
export type Records = z.output<typeof recordsSchema>;

/** A kind of record. */
export type Family = keyof Selection;

// The order of responses.
const families = Object.keys(recordsSchema.shape) as Family[];

/**
 * Builds the selected records from `read`. `key` is the record's key, an ABI's mask, or, where a family has one
 * record, what is selected.
 */
export function recordsBy(
  selection: Selection,
  read: (family: Family, key: string | bigint | true) => unknown,
): Records {
  const groups = families.flatMap((family): [string, unknown][] => {
    const selected = selection[family];
    if (typeof selected !== "object") return selected ? [[family, read(family, selected)]] : [];
    const values = selected.map((key) => [String(key), read(family, key)]);
    return values.length === 0 ? [] : [[family, Object.fromEntries(values)]];
  });
  return Object.fromEntries(groups);
}

/** Whether nothing is selected. */
export const isEmptySelection = (selection: Selection): boolean =>
  Object.keys(unsetRecords(selection)).length === 0;

/** The selected records, all null. */
export const unsetRecords = (selection: Selection): Records => recordsBy(selection, () => null);
