import type { Hex } from "viem";
import { z } from "zod/v4";
import { isTextKey } from "../../ens/record-values.ts";
import { addressSchema, booleanParameter, hexSchema, nameParameter, oneText } from "../rest/values.ts";

const nullableText = z.string().nullable();
const byKey = <T extends z.ZodType>(value: T) => z.record(z.string(), value);

const maxLabels = 50;
const maxUint256 = 2n ** 256n;

/** A comma-separated list of valid and distinct items. `form`: what they must be, in words. */
export function listInput(
  field: string,
  isItem: (item: string) => boolean,
  form: string,
  { item = "anything", max = 50, items = "" } = {},
) {
  return oneText(field)
    .transform((text) => text.split(","))
    .refine((list) => list.every(isItem), `${field} must be ${form}`)
    .refine((list) => new Set(list).size === list.length, `${field} must not name ${item} twice`)
    .refine((list) => list.length <= max, `${field} must not name more than ${max}${items}`);
}

const flagInput = (field: string) => booleanParameter(field).optional();

const isUint256 = (digits: string) => /^(0|[1-9]\d{0,77})$/.test(digits) && BigInt(digits) < maxUint256;

// zod also transforms what a refinement refused.
const toBigInt = (digits: string) => (isUint256(digits) ? BigInt(digits) : 0n);

/** Query parameters that select records. */
export const selectionQuery = z.object({
  name: flagInput("name").describe("`true`: the reverse name"),
  addresses: listInput("addresses", isUint256, "coin types in decimal digits, with commas between")
    .transform((items) => items.map(toBigInt))
    .optional()
    .meta({ description: "Coin types (ENSIP-9, ENSIP-11), comma-separated", example: "60,0,2147492101" }),
  texts: listInput("texts", isTextKey, "keys with commas between, none of them empty or with a NUL")
    .optional()
    .meta({ description: "Keys of text records (ENSIP-5), comma-separated", example: "avatar,com.x" }),
  data: listInput("data", isTextKey, "keys with commas between, none of them empty or with a NUL")
    .optional()
    .describe("Keys of data records (ENSIP-24), comma-separated"),
  contenthash: flagInput("contenthash").describe("`true`: the content hash (ENSIP-7)"),
  pubkey: flagInput("pubkey").describe("`true`: the public key (EIP-619)"),
  dnszonehash: flagInput("dnszonehash").describe("`true`: the hash of the DNS zone"),
  version: flagInput("version").describe("`true`: how often the records were cleared"),
  abi: oneText("abi")
    .refine((text) => isUint256(text) && text !== "0", "abi must be a mask of content types, at least 1")
    .transform(toBigInt)
    .optional()
    .describe("Bit mask of the accepted content types of an ABI (ENSIP-4)"),
  interfaces: listInput(
    "interfaces",
    (id) => /^0x[0-9a-fA-F]{8}$/.test(id),
    "4-byte ids (0x and 8 hex digits) with commas between",
  )
    .transform((ids) => ids.map((id) => id.toLowerCase() as Hex))
    .optional()
    .describe("Interface ids (ENSIP-8), comma-separated"),
});

/** Records that a request selects; absent ones are not selected. */
export type Selection = Readonly<z.output<typeof selectionQuery>>;

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

/** Path parameters: the name. */
export const namePath = z.object({
  name: nameParameter("name")
    .refine((name) => name.split(".").length <= maxLabels, `name must not have more than ${maxLabels} labels`)
    .meta({ example: "moonlamp.eth" }),
});

// The order of responses.
const families = Object.keys(recordsSchema.shape) as Family[];

/** Builds the selected records from `read`. `key` is the record's key, an ABI's mask, or true where a family has one record. */
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
