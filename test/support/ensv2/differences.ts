import { isDeepStrictEqual } from "node:util";
import type { Table } from "drizzle-orm";
import { type Hex, hexToBytes, hexToString } from "viem";
import type { Config } from "../../../src/config/environment.ts";
import { zeroAddress } from "../../../src/ens/ids.ts";
import { keccak256 } from "../../../src/ens/keccak.ts";
import { textValue } from "../../../src/ens/record-values.ts";
import { knownContracts } from "../../../src/read/names/known-contracts.ts";
import type { Records } from "../../../src/read/names/selection.ts";
import { findV2Contracts, readV2Names, type V2Name } from "../../../src/read/names/v2-names.ts";
import { buildNamePath } from "../../../src/read/names/v2-walk.ts";
import { type ChainReader, UnavailableError } from "../../../src/read/resolution/chain-reader.ts";
import { type Resolution, resolveRecords } from "../../../src/read/resolution/resolve.ts";
import type { Database } from "../../../src/read/sql/client.ts";
import { v2Entry, v2Role } from "../../../src/schema/ensv2.ts";
import type { Snapshot, TrueEntry } from "./recording.ts";

// What an index has against what calls said of the chain at a block. Each difference is one line; none means equal.

type Index = { config: Pick<Config, "datasources"> };
type Rows = { store: { rows(table: Table): Record<string, unknown>[] } };
type Entry = typeof v2Entry.$inferSelect;
type Name = Snapshot["names"][number];
type Stored = { database: Database };

const noRoles: Hex = `0x${"0".repeat(64)}`;
const nextVersion = (id: Hex): Hex => `0x${(BigInt(id) + 1n).toString(16).padStart(64, "0")}`;

function rolesOf(rows: readonly (typeof v2Role.$inferSelect)[]) {
  const roles = new Map<string, Record<Hex, Hex>>();
  for (const row of rows) {
    if (row.roles === noRoles) continue;
    const key = `${row.address} ${row.resource}`;
    roles.set(key, { ...roles.get(key), [row.account]: `0x${BigInt(row.roles).toString(16)}` });
  }
  return (address: string, resource: string) => roles.get(`${address} ${resource}`) ?? {};
}

// What the views of the contract return, of the stored entry.
function viewOf(entry: Entry, timestamp: bigint, roles: ReturnType<typeof rolesOf>): TrueEntry {
  const isLive = timestamp < entry.expiry;
  const resource = isLive ? entry.resource : nextVersion(entry.resource);
  return {
    raw: entry.label,
    status: isLive ? (entry.owner === zeroAddress ? 1 : 2) : 0,
    expiry: String(entry.expiry),
    latestOwner: entry.owner,
    tokenId: entry.tokenId,
    resource,
    owner: isLive ? entry.owner : zeroAddress,
    resolver: isLive ? entry.resolver : zeroAddress,
    subregistry: isLive ? entry.subregistry : zeroAddress,
    roles: roles(entry.registry, resource),
  };
}

/** Entries, tokens, resources and roles of the registries that are not hostile. */
export function entryDifferences(
  { store }: Rows,
  { block, timestamp, registries }: Pick<Snapshot, "block" | "timestamp" | "registries">,
): string[] {
  const roles = rolesOf(store.rows(v2Role) as (typeof v2Role.$inferSelect)[]);
  const found = Map.groupBy(store.rows(v2Entry) as Entry[], ({ registry }) => registry);
  return Object.entries(registries).flatMap(([address, registry]) => {
    if (registry.hostile) return [];
    const expected = registry.entries.filter(({ expiry }) => expiry !== "0");
    const byLabel = new Map((found.get(address as Hex) ?? []).map((entry) => [entry.label, entry]));
    const wrong = expected.flatMap(({ raw, ...rest }) => {
      const entry = byLabel.get(raw);
      const view = entry && viewOf(entry, BigInt(timestamp), roles);
      const { label: _, ...given } = { label: "", ...rest, raw };
      return isDeepStrictEqual(view, given)
        ? []
        : [`${block} ${address} ${raw} ${JSON.stringify(view)} ${JSON.stringify(given)}`];
    });
    const rootRoles = roles(address, noRoles);
    return [
      ...wrong,
      ...(byLabel.size === expected.length ? [] : [`${block} ${address} has ${byLabel.size} entries`]),
      ...(isDeepStrictEqual(rootRoles, registry.rootRoles)
        ? []
        : [
            `${block} ${address} root roles ${JSON.stringify(rootRoles)} ${JSON.stringify(registry.rootRoles)}`,
          ]),
    ];
  });
}

const hashesOf = (labels: readonly Hex[]) => labels.map((raw) => keccak256(hexToBytes(raw)));

/** Names by their labels as bytes, as the stored index has them at a time. */
function readNames(
  { config }: Index,
  { database }: Stored,
  { labels, time }: { labels: readonly (readonly Hex[])[]; time: number },
): Promise<V2Name[]> {
  const contracts = findV2Contracts(config.datasources);
  if (contracts === undefined) throw new Error("The namespace has no ENSv2.");
  const paths = labels.map((one) => buildNamePath(hashesOf(one)));
  return readV2Names(database, contracts, { paths, time, hasV1: true }, new AbortController().signal);
}

// Where the walk stopped, as an offset into the DNS name.
function offsetOf({ labels }: Name, level: number): number {
  return labels.slice(0, labels.length - level).reduce((sum, raw) => sum + 1 + hexToBytes(raw).length, 0);
}

// The registry that holds the name says itself that it is at the path above the name.
function isCanonical({ registries }: Snapshot, { registry, labels }: Name): boolean {
  const above = labels
    .slice(1)
    .map((raw) => `${(raw.length / 2 - 1).toString(16).padStart(2, "0")}${raw.slice(2)}`);
  return registry !== null && registries[registry]?.canonicalName === `0x${above.join("")}00`;
}

// Names that a hostile registry holds, or that lead through one.
function isHostile({ registries }: Snapshot, { registry, isUnsure }: Name): boolean {
  return isUnsure === true || (registry !== null && registries[registry]?.hostile === true);
}

const statuses = ["available", "reserved", "registered"];

/**
 * Owner, status, effective resolver, registry and canonical path of every name; for the hostile ones that they are
 * unproven.
 */
export async function nameDifferences(index: Index, stored: Stored, snapshot: Snapshot): Promise<string[]> {
  const { names, block, timestamp: time } = snapshot;
  const found = await readNames(index, stored, { labels: names.map(({ labels }) => labels), time });
  return names.flatMap((expected, position) => {
    const name = found[position];
    const prefix = `${block} ${expected.name}`;
    if (name === undefined) return [`${prefix} is missing`];
    if (isHostile(snapshot, expected)) return name.isProven ? [`${prefix} counts as proven`] : [];
    const given = {
      owner: expected.owner,
      resolver: expected.resolver?.address,
      offset: expected.resolver?.offset,
      subregistry: expected.subregistry,
      status: expected.exists ?? 0,
      isCanonical: isCanonical(snapshot, expected),
      isProven: true,
    };
    const read = {
      owner: name.owner,
      resolver: name.resolver,
      offset: offsetOf(expected, name.resolverLevel),
      subregistry: name.subregistry,
      status: expected.registry === null ? 0 : statuses.indexOf(name.entry?.status ?? "available"),
      isCanonical: expected.registry !== null && name.isCanonical,
      isProven: name.isProven,
    };
    return isDeepStrictEqual(given, read)
      ? []
      : [`${prefix} ${JSON.stringify(given)} ${JSON.stringify(read)}`];
  });
}

/** The generation in force for each .eth name. */
export async function authorityDifferences(
  index: Index,
  stored: Stored,
  { authority, block, timestamp: time }: Snapshot,
): Promise<string[]> {
  const eth: Hex = "0x657468";
  const found = await readNames(index, stored, { labels: authority.map(({ raw }) => [raw, eth]), time });
  return authority.flatMap((expected, position) =>
    found[position]?.authority === expected.authority
      ? []
      : [`${block} ${expected.label}.eth ${expected.authority} ${found[position]?.authority}`],
  );
}

const coinType = 0x80000001n;
const selection = {
  addresses: [60n, coinType],
  texts: ["description", "avatar"],
  contenthash: true,
};
const noChain = () => Promise.reject(new UnavailableError("There is no chain here."));
const reader: ChainReader = { read: noChain, findResolver: noChain };

const isText = (raw: Hex) => Buffer.from(hexToString(raw)).equals(Buffer.from(hexToBytes(raw)));
const set = (value: Hex | null) => (value === null || /^0x0*$/.test(value) ? null : value);
// A text with a NUL counts as unset; see docs/compatibility.md.
const textOf = (value: Hex | null) => (set(value) === null ? null : textValue(hexToString(value ?? "0x")));

function expectedOf({ answers }: Name): Records {
  return {
    addresses: { 60: set(answers.addr), [String(coinType)]: set(answers.coin80000001) },
    texts: { description: textOf(answers.description), avatar: textOf(answers.avatar) },
    contenthash: set(answers.contenthash),
  };
}

// The database, with these names read beforehand in one statement instead of one each.
async function withNames(
  index: Index,
  { database }: Stored,
  names: readonly Name[],
  time: number,
): Promise<Database> {
  const asked: { sql: string; values: readonly string[]; text: string | null }[] = [];
  const recorder: Database = {
    async row(sql, values, signal) {
      const [text = null] = await database.row(sql, values, signal);
      asked.push({ sql, values, text });
      return [text];
    },
  };
  await readNames(index, { database: recorder }, { labels: names.map(({ labels }) => labels), time });
  const [batch] = asked;
  const paths = JSON.parse(batch?.values[0] ?? "[]") as unknown[];
  const rows = JSON.parse(batch?.text ?? "[]") as unknown[];
  const known = new Map(
    paths.map((path, position) => [JSON.stringify([path]), JSON.stringify([rows[position]])]),
  );
  return {
    row: async (sql, values, signal) => {
      const text = sql === batch?.sql ? known.get(values[0] ?? "") : undefined;
      return text === undefined ? database.row(sql, values, signal) : [text];
    },
  };
}

/** How many names have the answers of the chain, how many are left to the chain, and which have others. */
export async function answerDifferences(
  { config }: Index,
  { database }: Stored,
  snapshot: Snapshot,
): Promise<{ equal: number; left: number; differences: string[] }> {
  const contracts = findV2Contracts(config.datasources);
  const resolution: Resolution = {
    known: knownContracts(config.datasources),
    reader,
    database,
    signal: new AbortController().signal,
    ensv2: contracts && { contracts, time: snapshot.timestamp },
  };
  const result = { equal: 0, left: 0, differences: [] as string[] };
  const { names } = snapshot;
  resolution.database = await withNames({ config }, { database }, names, snapshot.timestamp);
  for (const one of names) {
    if (!one.labels.every((raw) => isText(raw) && !hexToString(raw).includes("."))) continue;
    const name = one.labels.map((raw) => hexToString(raw)).join(".");
    const found = await resolveRecords(resolution, { name, selection }).catch((error: unknown) => {
      if (error instanceof UnavailableError) return "left to the chain" as const;
      throw error;
    });
    // Where the call fails, the name is unset, or only the chain knows.
    const isError = Object.values(one.answers).every((answer) => answer === null);
    const mayLeave = isError || isHostile(snapshot, one);
    const mustLeave = isHostile(snapshot, one);
    if (found === "left to the chain" && mayLeave) result.left++;
    else if (!mustLeave && isDeepStrictEqual(found, expectedOf(one))) result.equal++;
    else
      result.differences.push(
        `${snapshot.block} ${name} ${JSON.stringify(found)} ${JSON.stringify(expectedOf(one))}`,
      );
  }
  return result;
}
