import { type Hex, keccak256 } from "viem";
import { afterAll } from "vitest";
import { namespaces } from "../../../src/deployments/namespaces.ts";
import { labelhash } from "../../../src/ens/labels.ts";
import { namehash } from "../../../src/ens/names.ts";
import { jsonRow } from "../create-tables.ts";
import { createTestDatabase } from "../database.ts";
import type { chainOf } from "../endpoints.ts";
import { openLookups } from "./lookups.ts";

// Names in each state that docs/names.md tells apart, as rows. Addresses of contracts are mainnet's.

/** The name wrappers of mainnet and Linea, and a resolver whose records are known. */
export const wrapper = "0xd4416b13d2b3a9abae7acd5d6c2bbdbe25686401";
export const lineaWrapper =
  namespaces.mainnet["lineanames"]?.contracts["NameWrapper"]?.address?.toLowerCase() ?? "";
export const publicResolver = "0xf29100983e058b709f3d539b0c765937b804ac15";

/** The address of 20 equal bytes. */
export const addressOf = (byte: string): string => `0x${byte.repeat(20)}`;
export const [alice, bob, carol] = [addressOf("11"), addressOf("22"), addressOf("33")];
export const [dave, zero] = [addressOf("44"), addressOf("00")];

/** Time of the newest block, in seconds; a lease that is valid, one in its grace period, one that is over. */
export const now = 1_768_400_395;
export const day = 86_400;
export const grace = 90 * day;
export const [later, inGrace, past] = [now + 10 * day, now - day, now - grace - day] as const;

/** Fuses of the name wrapper. */
const fuse = { cannotUnwrap: 1, parentCannotControl: 65_536, isDotEth: 131_072 };

/** Where names live: namespace and chain. */
export const home = {
  base: ["basenames", 8453],
  linea: ["lineanames", 59_144],
  box: ["threedns", 10],
} as const;

type Given = {
  owner?: string;
  lease?: { holder: string; expires: number | string };
  wrapped?: { owner: string; fuses: number; expires: number | string };
  isMigrated?: boolean;
  resolver?: string;
  home?: readonly [namespace: string, chainId: number];
};

const emancipated = fuse.parentCannotControl | fuse.isDotEth;
const wrappedLease = (expires: number, fuses = emancipated): Given => ({
  owner: wrapper,
  lease: { holder: wrapper, expires },
  wrapped: { owner: alice, fuses, expires: expires + grace },
});

const names: Readonly<Record<string, Given>> = {
  eth: { owner: carol },
  "plain.eth": { owner: bob, lease: { holder: alice, expires: later } },
  "grace.eth": { lease: { holder: alice, expires: inGrace } },
  "gone.eth": { lease: { holder: alice, expires: past } },
  "wrapped.eth": wrappedLease(later),
  "wrappedgrace.eth": wrappedLease(inGrace),
  "wrappedgone.eth": wrappedLease(past, emancipated | fuse.cannotUnwrap),
  // Wrapped once, expired, and registered anew unwrapped: the wrapper's token stays behind.
  "anew.eth": {
    owner: bob,
    lease: { holder: bob, expires: later },
    wrapped: { owner: alice, fuses: emancipated, expires: past },
  },
  "sub.wrapped.eth": { owner: wrapper, wrapped: { owner: bob, fuses: 0, expires: 0 } },
  "locked.wrapped.eth": {
    owner: wrapper,
    wrapped: { owner: bob, fuses: fuse.parentCannotControl | fuse.cannotUnwrap, expires: later },
  },
  "lapsed.wrapped.eth": {
    owner: wrapper,
    wrapped: { owner: bob, fuses: fuse.parentCannotControl, expires: now - 1 },
  },
  // The parent gave the name to another owner in the registry.
  "moved.wrapped.eth": { owner: carol, wrapped: { owner: bob, fuses: 0, expires: later } },
  "child.plain.eth": { owner: carol },
  "ownerless.plain.eth": { owner: zero },
  "old.eth": { owner: bob, isMigrated: false },
  "me.base.eth": { owner: bob, lease: { holder: alice, expires: inGrace }, home: home.base },
  "me.linea.eth": {
    owner: lineaWrapper,
    lease: { holder: lineaWrapper, expires: later },
    wrapped: { owner: carol, fuses: fuse.parentCannotControl, expires: later + grace },
    home: home.linea,
  },
  box: { owner: carol },
  "me.box": { lease: { holder: alice, expires: now }, home: home.box },
  "records.eth": { owner: bob, lease: { holder: bob, expires: later }, resolver: publicResolver },
};

/** Names of every state, without the parents `eth` and `box`. */
export const everyName = Object.keys(names).filter((name) => name.includes("."));

/** What a resolver has of a name: values that are indexed, and which records events ever named. */
type Records = {
  chainId?: number;
  resolver?: string;
  addresses?: Readonly<Record<number, string>>;
  texts?: Readonly<Record<string, string>>;
  /** Coin types and keys that were set once; those of `addresses` and `texts` unless given. */
  seen?: { coins: readonly number[]; texts: readonly string[] };
  contenthash?: string;
  name?: string;
  /** Content types of ABIs. */
  abis?: readonly number[];
  /** Values of data records. */
  data?: Readonly<Record<string, Hex>>;
};

/**
 * A database with these names, bob's primary name and its records; `store` and the like add rows, `open` its routes
 * under /v1. It is closed after the tests of the file.
 */
export async function createStoredNames() {
  const client = await createTestDatabase("indexes");
  afterAll(() => client.close());

  async function insert(table: string, ...rows: readonly Record<string, unknown>[]) {
    const text = `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1)`;
    await client.query(text, [JSON.stringify(rows.map((row) => jsonRow(table, row)))]);
  }

  async function store(name: string, given: Given) {
    const { owner = alice, lease, wrapped, isMigrated = true, resolver } = given;
    const [namespace, chainId] = given.home ?? ["ens", 1];
    const node = namehash(name);
    const [label = "", ...above] = name.split(".");
    await insert("domain", {
      id: node,
      name,
      label_name: label,
      labelhash: labelhash(label),
      parent_id: namehash(above.join(".")),
      subdomain_count: 0,
      is_migrated: isMigrated,
      namespace,
      chain_id: chainId,
      created_at: 1_600_000_000,
      owner_id: owner,
      registrant_id: lease?.holder,
      wrapped_owner_id: wrapped?.owner,
      resolver_id: resolver && `1-${resolver}-${node}`,
      change_block: 1,
    });
    const common = { id: node, domain_id: node, change_block: 1 };
    if (lease)
      await insert("registration", {
        ...common,
        registration_date: 1_700_000_000,
        expiry_date: lease.expires,
        registrant_id: lease.holder,
      });
    if (wrapped)
      await insert("wrapped_domain", {
        ...common,
        expiry_date: wrapped.expires,
        fuses: wrapped.fuses,
        owner_id: wrapped.owner,
        name,
      });
  }

  /** Rows of a resolver and its records of a name. */
  async function setRecords(name: string, { chainId = 1, resolver = publicResolver, ...records }: Records) {
    const node = namehash(name);
    const { addresses = {}, texts = {}, data = {} } = records;
    const { seen = { coins: Object.keys(addresses).map(Number), texts: Object.keys(texts) } } = records;
    const at = { chain_id: chainId, address: resolver, node };
    await insert("resolver", {
      id: `${chainId}-${resolver}-${node}`,
      domain_id: node,
      address: resolver,
      texts: seen.texts,
      coin_types: seen.coins,
      change_block: 1,
    });
    await insert("resolver_records", {
      id: `eip155:${chainId}:${resolver}/${node}`,
      ...at,
      contenthash: records.contenthash,
      name: records.name,
      abi_content_types: records.abis,
      data_keys: Object.keys(data),
    });
    await setAddresses(name, addresses, { chainId, resolver });
    const rows = Object.entries(texts).map(([key, value]) => ({
      ...at,
      key_hash: labelhash(key),
      key,
      value,
    }));
    await insert("resolver_text_records", ...rows);
    const hashes = Object.entries(data).map(([key, value]) => ({
      ...at,
      key_hash: labelhash(key),
      key,
      value_hash: keccak256(value),
      account: /^accounts\[\d+\]\[(.*)\]$/.exec(key)?.[1],
    }));
    await insert("resolver_data_records", ...hashes);
  }

  /** Rows of addresses alone. */
  const setAddresses = (
    name: string,
    addresses: Readonly<Record<number, string>>,
    { chainId = 1, resolver = publicResolver } = {},
  ) =>
    insert(
      "resolver_address_records",
      ...Object.entries(addresses).map(([coin, value]) => ({
        chain_id: chainId,
        address: resolver,
        node: namehash(name),
        coin_type: Number(coin),
        value,
      })),
    );

  /** An account names itself on the root chain, by the record of its reverse name (ENSIP-3). */
  async function claim(account: string, name: string) {
    const reverse = `${account.slice(2)}.addr.reverse`;
    await store(reverse, { owner: account, resolver: publicResolver });
    await setRecords(reverse, { name });
    await insert("domain_resolver_relations", {
      chain_id: 1,
      address: zero,
      domain_id: namehash(reverse),
      resolver: publicResolver,
    });
  }

  for (const [name, given] of Object.entries(names)) await store(name, given);
  await setRecords("records.eth", {
    addresses: { 60: alice },
    texts: { url: "https://ens.domains" },
    seen: { coins: [60, 0], texts: ["url", "avatar"] },
    contenthash: "0xe301",
  });
  await insert("reverse_name_records", { address: bob, coin_type: 2_147_483_648, value: "records.eth" });

  const plugins = ["subgraph", "basenames", "lineanames", "threedns", "protocol-acceleration"];
  const open = (options: { chain?: ReturnType<typeof chainOf>; hasRecords?: boolean } = {}) =>
    openLookups({
      database: client,
      datasources: namespaces.mainnet,
      plugins,
      time: now,
      clock: now + 5,
      ...options,
    });
  return { client, insert, store, setRecords, setAddresses, claim, open, ...open() };
}
