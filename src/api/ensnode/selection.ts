import type { Hex } from "viem";
import { z } from "zod/v4";
import { booleanParameter, nameParameter, oneText } from "../../ens/parameters.ts";
import { isTextKey } from "../../ens/record-values.ts";

// Which records of which name a request to `/api/resolve` selects.

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

/** Path parameters: the name. */
export const namePath = z.object({
  name: nameParameter("name")
    .refine((name) => name.split(".").length <= maxLabels, `name must not have more than ${maxLabels} labels`)
    .meta({ example: "moonlamp.eth" }),
});
