import type { Hex } from "viem";
import { z } from "zod/v4";
import { listPowers, type RoleHolder } from "../../ens/roles.ts";
import { addressSchema, hexSchema, located } from "../../ens/schemas.ts";

// Powers that accounts have over names, in the words of ENS's own API: the schemas, and what a role of ENSv2 gives.

/** What a grant of powers is for: a whole registry, a registration in either generation, or a resolver. */
export const scopeSchema = z.union([
  z.strictObject({ kind: z.literal("root"), detail: z.strictObject({ registry: located }) }),
  z.strictObject({ kind: z.enum(["registry", "registration"]), detail: z.strictObject({}) }),
  z.strictObject({ kind: z.literal("resolver"), detail: z.strictObject({ resolver: located }) }),
]);

/** Powers over one thing. */
export const grantSchema = z.strictObject({ grant_scope: scopeSchema, powers: z.array(z.string()) });

/** The accounts with powers over a registration, ascending, with what they have. */
export const roleSummarySchema = z.array(
  z.strictObject({ address: addressSchema, grants: z.array(grantSchema) }),
);

const digits = z.string().regex(/^\d+$/);
const selectorShape = {
  hash: hexSchema(64),
  coin_type: z.int().optional(),
  coin_type_decimal: digits.optional(),
  key: z.string().optional(),
  key_bytes: z.string().optional(),
  content_type: z.int().optional(),
  content_type_decimal: digits.optional(),
  interface_id: z.string().optional(),
};
const kinds = ["address", "text", "data", "abi", "interface"] as const;
const selectorSchema = z.strictObject({ kind: z.enum(kinds), ...selectorShape });

/** The one record, or the several records with the same argument, that a grant on a resolver is limited to. */
export const recordResourceSchema = z.strictObject({
  kind: z.enum([...kinds, "argument"]),
  ...selectorShape,
  selectors: z.array(selectorSchema).optional(),
});

/** Powers of an account. `eac_resource` and `record_resource`: of a grant on a resolver of ENSv2. */
export type Grant = z.output<typeof grantSchema> & {
  address: Hex;
  eac_resource?: string | undefined;
  record_resource?: z.output<typeof recordResourceSchema> | undefined;
};

/**
 * A role as the statement returns it. `at`: position of the name that it was asked for; `node`: the name of the entry,
 * or the one that a resolver's resource is limited to; `record` and `key`: what else the latter stands for, as
 * `v2_resources` has it.
 */
export type StoredRole = {
  at: number;
  kind: RoleHolder;
  address: Hex;
  resource: Hex;
  account: Hex;
  roles: Hex;
  node: Hex | null;
  record: string | null;
  key: string | null;
  after: string[];
};

/** The resource that stands for a whole contract. */
export const wholeContract = `0x${"0".repeat(64)}`;

/** What a role of ENSv2 gives its account; undefined without any power that has a name. */
export function toGrant(role: StoredRole, chainId: number): Grant | undefined {
  const powers = listPowers(role.roles, role.kind);
  if (powers.length === 0) return undefined;
  const contract = { chain_id: chainId, address: role.address };
  const grant = { address: role.account, powers };
  if (role.kind !== "registry") {
    const grant_scope = { kind: "resolver" as const, detail: { resolver: contract } };
    const [eac_resource, record_resource] = [String(BigInt(role.resource)), describeRecord(role, powers)];
    return { ...grant, grant_scope, eac_resource, record_resource };
  }
  return role.resource === wholeContract
    ? { ...grant, grant_scope: { kind: "root", detail: { registry: contract } } }
    : { ...grant, grant_scope: { kind: "registry", detail: {} } };
}

// Records by what a setter's first argument says of them. Those of two families may have the same argument.
type RecordKind = readonly [
  kind: (typeof kinds)[number],
  isOf: (key: string) => boolean,
  told: (key: string) => object,
];
const isWord = (key: string) => key.length === 66;
const readings: readonly RecordKind[] = [
  ["address", isWord, (key) => buildNumberMember("coin_type", key)],
  ["text", () => true, decodeKey],
  ["data", () => true, decodeKey],
  ["abi", isWord, (key) => buildNumberMember("content_type", key)],
  ["interface", (key) => key.length === 10, (key) => ({ interface_id: key })],
];

// Only setters that the account may call count, not their admins.
function describeRecord(
  { resource, record, key }: StoredRole,
  powers: readonly string[],
): Grant["record_resource"] {
  if (record === null || key === null) return undefined;
  const selectors = readings
    .filter(([kind, isOf]) => record === kind || (record === "argument" && isOf(key)))
    .filter(([kind]) => powers.includes(kind === "address" ? "set_addr" : `set_${kind}`))
    .map(([kind, , told]) => ({ kind, hash: resource, ...told(key) }));
  return selectors.length > 1 ? { kind: "argument", hash: resource, selectors } : selectors[0];
}

// JSON readers round numbers beyond 53 bits.
function buildNumberMember(member: "coin_type" | "content_type", digits: string) {
  const isSafe = Number.isSafeInteger(Number(digits));
  return isSafe ? { [member]: Number(digits) } : { [`${member}_decimal`]: String(BigInt(digits)) };
}

function decodeKey(bytes: string) {
  const raw = Buffer.from(bytes.slice(2), "hex");
  const text = raw.toString("utf8");
  const isText = Buffer.from(text, "utf8").equals(raw) && !text.includes("\0") && text.trim() !== "";
  return isText ? { key: text } : { key_bytes: bytes };
}
