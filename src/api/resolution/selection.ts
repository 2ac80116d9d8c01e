import type { Hex } from "viem";
import { z } from "zod/v4";
import { isTextKey } from "../../ens/record-values.ts";
import { nameParameter } from "../rest/values.ts";

/** Records that a request selects. */
export type Selection = {
  name: boolean;
  addresses: bigint[];
  texts: string[];
  contenthash: boolean;
  pubkey: boolean;
  dnszonehash: boolean;
  version: boolean;
  /** Mask of the accepted content types. */
  abi: bigint | undefined;
  interfaces: Hex[];
};

/** Values of the selected records: groups and keys that were not selected are absent, unset records are null. */
export type Records = {
  name?: string | null;
  addresses?: Record<string, string | null>;
  texts?: Record<string, string | null>;
  contenthash?: Hex | null;
  pubkey?: { x: Hex; y: Hex } | null;
  dnszonehash?: Hex | null;
  version?: string | null;
  abi?: { contentType: string; data: Hex } | null;
  interfaces?: Record<string, Hex | null>;
};

const maxItems = 50;
const maxLabels = 50;
const maxUint256 = 2n ** 256n;

function listInput(field: string, isItem: (item: string) => boolean, itemFault: string) {
  return z
    .string({ error: `${field} must be given once` })
    .transform((text) => text.split(","))
    .refine((items) => items.every(isItem), itemFault)
    .refine((items) => new Set(items).size === items.length, `${field} must not name anything twice`)
    .refine((items) => items.length <= maxItems, `${field} must not name more than ${maxItems}`);
}

function flagInput(field: string) {
  return z.enum(["true", "false"], { error: `${field} must be true or false` }).optional();
}

const isUint256 = (digits: string) => /^(0|[1-9]\d{0,77})$/.test(digits) && BigInt(digits) < maxUint256;

/** Query parameters that select records. */
export const selectionQuery = z.object({
  name: flagInput("name").meta({ description: "`true`: the reverse name" }),
  addresses: listInput(
    "addresses",
    isUint256,
    "addresses must be coin types in decimal digits, with commas between",
  )
    .optional()
    .meta({ description: "Coin types (ENSIP-9, ENSIP-11), with commas between", example: "60,0,2147492101" }),
  texts: listInput(
    "texts",
    isTextKey,
    "texts must be keys with commas between, none of them empty or with a NUL",
  )
    .optional()
    .meta({ description: "Keys of text records (ENSIP-5), with commas between", example: "avatar,com.x" }),
  contenthash: flagInput("contenthash").meta({ description: "`true`: the content hash (ENSIP-7)" }),
  pubkey: flagInput("pubkey").meta({ description: "`true`: the public key (EIP-619)" }),
  dnszonehash: flagInput("dnszonehash").meta({ description: "`true`: the hash of the DNS zone" }),
  version: flagInput("version").meta({ description: "`true`: how often the records were cleared" }),
  abi: z
    .string({ error: "abi must be given once" })
    .refine((text) => isUint256(text) && text !== "0", "abi must be a mask of content types, at least 1")
    .optional()
    .meta({ description: "Mask of the welcome content types of an ABI (ENSIP-4)" }),
  interfaces: listInput(
    "interfaces",
    (id) => /^0x[0-9a-fA-F]{8}$/.test(id),
    "interfaces must be 4-byte ids (0x and 8 hex digits) with commas between",
  )
    .optional()
    .meta({ description: "Interface ids (ENSIP-8), with commas between" }),
});

/** The name in the path. */
export const namePath = z.object({
  name: nameParameter("name")
    .refine((name) => name.split(".").length <= maxLabels, `name must not have more than ${maxLabels} labels`)
    .meta({ example: "moonlamp.eth" }),
});

/** The selection that the query parameters mean; undefined if nothing is selected. */
export function selectionOf(query: z.output<typeof selectionQuery>): Selection | undefined {
  const selection: Selection = {
    name: query.name === "true",
    addresses: (query.addresses ?? []).map(BigInt),
    texts: query.texts ?? [],
    contenthash: query.contenthash === "true",
    pubkey: query.pubkey === "true",
    dnszonehash: query.dnszonehash === "true",
    version: query.version === "true",
    abi: query.abi === undefined ? undefined : BigInt(query.abi),
    interfaces: (query.interfaces ?? []).map((id) => id.toLowerCase() as Hex),
  };
  return isEmptySelection(selection) ? undefined : selection;
}

/** A selection of nothing. */
export function emptySelection(): Selection {
  return {
    name: false,
    addresses: [],
    texts: [],
    contenthash: false,
    pubkey: false,
    dnszonehash: false,
    version: false,
    abi: undefined,
    interfaces: [],
  };
}

/** Whether nothing is selected. */
export function isEmptySelection(selection: Selection): boolean {
  return Object.values(selection).every(
    (part) => part === false || part === undefined || (Array.isArray(part) && part.length === 0),
  );
}

/** The selected records, each unset. */
export function unsetRecords(selection: Selection): Records {
  const unset = (keys: readonly (string | bigint)[]) => Object.fromEntries(keys.map((key) => [key, null]));
  return {
    ...(selection.name ? { name: null } : {}),
    ...(selection.addresses.length > 0 ? { addresses: unset(selection.addresses.map(String)) } : {}),
    ...(selection.texts.length > 0 ? { texts: unset(selection.texts) } : {}),
    ...(selection.contenthash ? { contenthash: null } : {}),
    ...(selection.pubkey ? { pubkey: null } : {}),
    ...(selection.dnszonehash ? { dnszonehash: null } : {}),
    ...(selection.version ? { version: null } : {}),
    ...(selection.abi === undefined ? {} : { abi: null }),
    ...(selection.interfaces.length > 0 ? { interfaces: unset(selection.interfaces) } : {}),
  };
}
