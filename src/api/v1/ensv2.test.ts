import { decodeEventLog, type Hex, hexToBytes, hexToString, toEventSelector } from "viem";
import { beforeAll, describe, expect, test } from "vitest";
import { leaseAbi, registryV2Abi } from "../../../abis/ensv2.ts";
import { erc1155TransferAbi } from "../../../abis/names.ts";
import { v2Addresses, v2ChainId, v2Environment, v2Folder } from "../../../devnet/recorded-chains.ts";
import { readRecording } from "../../../devnet/recording.ts";
import { nameOf, readTruth, type Snapshot } from "../../../test/support/ensv2/recording.ts";
import { createStoredIndex } from "../../../test/support/ensv2/stored-index.ts";
import {
  differencesOf,
  type Entry,
  type Facts,
  openLookups,
  summariesOf,
} from "../../../test/support/lookups/lookups.ts";
import { createV2Index } from "../../../test/support/recorded-index.ts";
import { zeroAddress } from "../../ens/ids.ts";
import { keccak256 } from "../../ens/keccak.ts";
import { labelhashIn, namehash } from "../../ens/names.ts";
import { textValue } from "../../ens/record-values.ts";
import { type ReminderPlace, readReminders } from "../../read/events/reminders.ts";
import type { NameRow } from "../../read/names/rows.ts";

// What /v1 says of names of both generations against what calls returned of the recorded chain.
const index = createV2Index();
const plugins = v2Environment.PLUGINS.split(",");
const {
  RootRegistry: root = "0x",
  ETHRegistry = "0x",
  NameWrapper,
  Graveyard,
} = v2Addresses as Record<string, Hex>;
const [graceOfV1, graceOfV2] = [90n * 86_400n, 28n * 86_400n];
const forever = "18446744073709551615";

const stored = await createStoredIndex({ withEvents: true });

const open = (time: number) =>
  openLookups({ database: stored.database, datasources: index.config.datasources, plugins, time });

const some = (address: string | null | undefined) =>
  address === zeroAddress ? undefined : (address ?? undefined);
const deadlines = (expiry: bigint, grace: bigint) =>
  String(expiry) === forever
    ? { expires_at: null, grace_ends_at: null, expires_at_reason: "no_expiry" }
    : { expires_at: String(expiry), grace_ends_at: String(expiry + grace) };

// Of a name directly under .eth, by the generation in force.
function expectedUnderEth(snapshot: Snapshot, { raw, authority, v1 }: Snapshot["authority"][number]): Facts {
  const entry = snapshot.registries[ETHRegistry]?.entries.find((one) => one.raw === raw);
  const now = BigInt(snapshot.timestamp);
  if (authority === "v2")
    return {
      version: "v2",
      authority: "ens_v2",
      status: "active",
      owner: some(entry?.owner),
      manager: some(entry?.owner),
      ...deadlines(BigInt(entry?.expiry ?? 0), graceOfV2),
      token_id: BigInt(entry?.tokenId ?? 0).toString(),
      subregistry: some(entry?.subregistry),
      ens_v1: undefined,
    };
  if (authority === "none") {
    const wasHeld =
      entry !== undefined && (entry.latestOwner !== zeroAddress || !entry.tokenId?.endsWith("00000000"));
    const end = BigInt(entry?.expiry ?? 0);
    const isInGrace = wasHeld && entry.latestOwner !== zeroAddress && now < end + graceOfV2;
    const status = isInGrace ? "expired" : "released";
    return { version: undefined, owner: undefined, manager: undefined, ...(wasHeld ? { status } : {}) };
  }
  const ofV1 = { version: "v1", reserved: authority === "reserved" ? true : undefined };
  if (v1 === null || v1.graveyard) return ofV1;
  const isOver = now >= BigInt(v1.expires);
  const status = !isOver ? "active" : now <= BigInt(v1.expires) + graceOfV1 ? "expired" : "released";
  return {
    ...ofV1,
    ...deadlines(BigInt(v1.expires), graceOfV1),
    status,
    ...(v1.holder && v1.holder !== NameWrapper ? { owner: v1.holder, manager: some(v1.owner) } : {}),
    // Without a reservation the Universal Resolver of ENSv2 finds no resolver.
    resolver: status === "released" || authority !== "reserved" ? undefined : some(v1.resolver),
  };
}

// Whether a name leads through a registry twice. Of a registry below a name of its own there are names without end:
// lists have those of the first time around (docs/data-model.md).
function isInCircle({ registries }: Snapshot, labels: readonly Hex[]): boolean {
  const path: Hex[] = [root];
  for (const label of labels.slice(1).reverse()) {
    const entry = registries[path.at(-1) ?? root]?.entries.find(({ raw }) => raw === label);
    if (!some(entry?.subregistry)) return false;
    path.push(entry?.subregistry ?? root);
  }
  return new Set(path).size < path.length;
}

const factsOf = (row: NameRow | undefined): Facts => ({
  ...row,
  resolver: row?.resolver?.address,
  subregistry: row?.subregistry?.address,
});

const set = (value: string | null | undefined) => (value && !/^0x0*$/.test(value) ? value : null);
// A text with a NUL counts as unset; see docs/compatibility.md.
const textOf = (value: Hex | null) => (set(value) === null ? null : textValue(hexToString(value ?? "0x")));

// What calls to a resolver return of the grouped records of a row: an address without its own value is the default one
// (ENSIP-19).
function answersOf({ records }: NameRow) {
  const address = (coin: string) => set(records?.addresses[coin] ?? records?.addresses["2147483648"] ?? null);
  return {
    addr: address("60"),
    coin80000001: address("2147483649"),
    description: records?.texts["description"] ?? null,
    avatar: records?.texts["avatar"] ?? null,
    contenthash: records?.contenthash ?? null,
  };
}

// How names came over, by who moved which token in the transaction: the wrapper's to a controller and then to the
// Graveyard (locked), or given back by the wrapper (unlocked); of subnames the same, by the registry of their parent.
const migrated: [string, string][] = [
  ["migrateme.eth", "unwrapped"],
  ["wrapunlocked.eth", "unlocked_wrapped"],
  ["wraplocked.eth", "locked_wrapped"],
  ["vault.wraplocked.eth", "locked_child"],
  ["vault.walnutquill.eth", "emancipated_child"],
];

const abi = [...registryV2Abi, ...erc1155TransferAbi];

// What registries emit of an entry: by event its action and the members that its log tells.
const toldOf: Readonly<Record<string, readonly [action: string, ...members: string[]]>> = {
  LabelRegistered: ["registration_granted", "dates", "registrant", "sender", "token_id", "canonical_id"],
  LabelReserved: ["registration_reserved", "dates", "token_id"],
  LabelUnregistered: ["registration_released", "dates"],
  ExpiryUpdated: ["registration_renewed", "dates", "canonical_id"],
  ResolverUpdated: ["resolver_changed", "resolver", "sender"],
  SubregistryUpdated: ["subregistry_changed", "subregistry", "sender"],
  EACRolesChanged: ["permission_changed", "address", "grant_scope", "bitmaps", "canonical_id"],
  TransferSingle: ["token_transferred", "from", "to", "operator"],
  TransferBatch: ["token_transferred", "from", "to", "operator"],
};
const topicOf = Object.fromEntries(
  abi.flatMap((item) => (item.name in toldOf ? [[item.name, toEventSelector(item)]] : [])),
);

// Transaction and log of each event that a registry emitted of the entry of a label; mints and burns belong to others.
function eventsOfEntry(registry: Hex, raw: Hex, last: number): string[] {
  const id = keccak256(hexToBytes(raw)).slice(2, 58);
  const known = new Set<string | undefined>(Object.values(topicOf));
  const found = index.logs.filter(({ address, topics, data, blockNumber }) => {
    if (address !== registry || Number(blockNumber) > last || !known.has(topics[0])) return false;
    const words = [...Array((data.length - 2) / 64).keys()].map((at) =>
      data.slice(2 + 64 * at, 66 + 64 * at),
    );
    if (topics[0] === topicOf["TransferSingle"] || topics[0] === topicOf["TransferBatch"])
      return (
        BigInt(topics[2] ?? 0) !== 0n &&
        BigInt(topics[3] ?? 0) !== 0n &&
        words.some((word) => word.slice(0, 56) === id)
      );
    return topics[1]?.slice(2, 58) === id;
  });
  return found.map((log) => `${log.transactionHash} ${Number(log.logIndex)}`).sort();
}

const logAt = new Map(index.logs.map((log) => [`${log.transactionHash} ${Number(log.logIndex)}`, log]));
const located = (address: Hex) =>
  address === zeroAddress ? {} : { chain_id: v2ChainId, address: address.toLowerCase() };

// What the log of an entry's event tells, as `data` has it; without what other logs tell.
function toldBy(entry: Entry, transaction: string): Facts {
  const log = logAt.get(transaction);
  if (log === undefined) throw new Error(`no log ${transaction}`);
  const event = decodeEventLog({ abi, topics: log.topics as [Hex, ...Hex[]], data: log.data });
  const args = event.args as Record<string, unknown>;
  const lower = (name: string) => ({ [name]: String(args[name]).toLowerCase() });
  const expiry = String(args["expiry"] ?? args["newExpiry"]);
  const why = entry.kind === "LabelUnregistered" ? "released" : expiry === forever ? "no_expiry" : undefined;
  const facts: Readonly<Record<string, () => Facts>> = {
    dates: () => (why ? { expires_at: null, expires_at_reason: why } : { expires_at: expiry }),
    registrant: () => ({ registrant: String(args["owner"]).toLowerCase() }),
    token_id: () => ({ token_id: String(args["tokenId"]) }),
    canonical_id: () => {
      const id = BigInt(String(args["labelHash"] ?? args["tokenId"] ?? args["resource"]));
      return { canonical_id: String((id >> 32n) << 32n) };
    },
    resolver: () => ({ resolver: located(args["resolver"] as Hex) }),
    subregistry: () => ({ subregistry: located(args["subregistry"] as Hex) }),
    address: () => ({ address: String(args["account"]).toLowerCase() }),
    grant_scope: () => ({ grant_scope: { kind: "registry", detail: {} } }),
    bitmaps: () => ({
      old_role_bitmap: String(args["oldRoleBitmap"]),
      new_role_bitmap: String(args["newRoleBitmap"]),
    }),
  };
  const [ordinary, ...members] = toldOf[event.eventName] ?? [];
  const action = entry.type === "migration" ? "migration_applied" : ordinary;
  return Object.assign({ action }, ...members.map((name) => facts[name]?.() ?? lower(name)));
}

// What the registrar's event in the transaction of a registration says of its price.
function paidFor({ transaction_hash, log_index, data }: Entry): Facts {
  const sales = index.logs
    .filter((log) => log.transactionHash === transaction_hash && Number(log.logIndex) > log_index)
    .filter(({ topics }) => topics[0] === toEventSelector(leaseAbi[0]))
    .map(({ topics, data }) => decodeEventLog({ abi: leaseAbi, topics: topics as [Hex, ...Hex[]], data }));
  const sale = sales.find(({ args }) => String(args.tokenId) === data["token_id"]);
  if (sale?.eventName !== "NameRegistered") return {};
  const { base, premium, paymentToken, referrer } = sale.args;
  return {
    cost: String(base + premium),
    base_cost: String(base),
    premium: String(premium),
    payment_token: { ...located(paymentToken), address: paymentToken.toLowerCase() },
    referrer,
  };
}

const timeOf = new Map(
  readRecording(v2Folder).blocks.map(({ number, timestamp }) => [Number(number), String(Number(timestamp))]),
);

// All blocks: src/read/names/v2-names.test.ts.
const snapshots = readTruth().filter(({ block }) => [350, 879].includes(block));

describe.each(snapshots)("at block $block", (snapshot) => {
  const rows = new Map<string, NameRow>();
  let v1: ReturnType<typeof open>;
  const names = () => [
    ...new Set([
      ...snapshot.authority.map(({ raw }) => nameOf([raw, "0x657468"])),
      ...snapshot.names.map(({ labels }) => nameOf(labels)),
    ]),
  ];
  beforeAll(async () => {
    await index.playTo(snapshot.block);
    await stored.store(index);
    v1 = open(snapshot.timestamp);
    const all = names().filter((name) => Buffer.byteLength(name) <= 2_000);
    for (let start = 0; start < all.length; start += 1_000) {
      const inputs = all.slice(start, start + 1_000).map((name) => ({ name }));
      const { data } = await v1.post({ inputs });
      for (const { input, record } of data) if (record) rows.set(input.name, record);
    }
  });

  test("each name under .eth is what the generation in force makes of it", () => {
    const differences = snapshot.authority.flatMap((one) => {
      const name = nameOf([one.raw, "0x657468"]);
      const expected = expectedUnderEth(snapshot, one);
      const isKnown = rows.has(name) || one.v1 !== null || expected["status"] !== undefined;
      if (!isKnown) return [];
      return differencesOf(name, factsOf(rows.get(name)), expected);
    });
    expect(differences).toEqual([]);
  });

  test("names below have the owner, resolver and expiry of their entry, where registries prove it", () => {
    const registryOf = new Map(snapshot.names.map((one) => [nameOf(one.labels), one.registry]));
    let seen = 0;
    const differences = snapshot.names.flatMap(({ labels, registry, owner, resolver, exists }) => {
      const row = rows.get(nameOf(labels));
      const way = labels.slice(0, -1).map((_, at) => registryOf.get(nameOf(labels.slice(at))) ?? null);
      const isProven = way.every((one) => one !== null && !snapshot.registries[one]?.hostile);
      const entry = registry && snapshot.registries[registry]?.entries.find(({ raw }) => raw === labels[0]);
      if (labels.length < 3 || !isProven || !entry || exists !== 2) return [];
      seen += 1;
      return differencesOf(nameOf(labels), factsOf(row), {
        version: "v2",
        status: "active",
        owner: some(owner),
        manager: some(owner),
        resolver: some(resolver?.address),
        ...deadlines(BigInt(entry.expiry ?? 0), 0n),
      });
    });
    expect(differences).toEqual([]);
    expect(seen).toBeGreaterThan(5);
  });

  test("names of ENSv1 that no entry leads to are said to resolve to nothing, as calls find no resolver", () => {
    const differences: string[] = [];
    for (const { labels, resolver } of snapshot.names) {
      const row = rows.get(nameOf(labels));
      if (labels.length < 2 || labels.at(-1) !== "0x657468" || !row || row.authority === "ens_v2") continue;
      const isNone = some(resolver?.address) === undefined;
      if (isNone !== (row.unresolvable_reason !== undefined)) differences.push(row.name);
      const { name, resolver: own, records, primary_address } = row;
      if (isNone) expect({ name, own, records, primary_address }).toEqual({ name });
    }
    expect(differences).toEqual([]);
  });

  test("records of names in ENSv2 are what calls return, or said to be unknown", () => {
    const differences: string[] = [];
    let [seen, unknown] = [0, 0];
    for (const { labels, answers } of snapshot.names) {
      const name = nameOf(labels);
      const row = rows.get(name);
      if (row?.authority !== "ens_v2") continue;
      const isCallFailing = Object.values(answers).every((answer) => answer === null);
      if (row.records === undefined) {
        unknown += 1;
        continue;
      }
      // Of what the chain does not answer, the index may still have values.
      if (isCallFailing) continue;
      seen += 1;
      const expected = {
        addr: set(answers.addr),
        coin80000001: set(answers.coin80000001),
        description: textOf(answers.description),
        avatar: textOf(answers.avatar),
        contenthash: set(answers.contenthash),
      };
      const found = answersOf(row);
      if (JSON.stringify(found) !== JSON.stringify(expected))
        differences.push(`${name} ${JSON.stringify(found)} ${JSON.stringify(expected)}`);
    }
    expect(differences).toEqual([]);
    expect([seen > 20, unknown < seen]).toEqual([true, true]);
  });

  if (snapshot.block === 879)
    test("records by key are those of the generation in force, or said to be unknown", async () => {
      const recordsOf = async (name: string) =>
        (await v1.get<{ records: object }>(`/v1/names/${name}/records?keys=text:url`)).data.records;
      expect(await recordsOf("migrateme.eth")).toEqual({ "text:url": { status: "not_found" } });
      const unsupported_reason = "indexed_record_inventory_not_authoritative";
      expect(await recordsOf("evilres.eth")).toEqual({
        "text:url": { status: "unsupported", unsupported_reason },
      });
    });

  if (snapshot.block === 879)
    test("a lease that came over is registered since ENSv1's registrar had it, its registration in ENSv2 since then", () => {
      const topic = toEventSelector("NameRegistered(uint256,address,uint256)");
      const came = [...rows.values()].filter(
        ({ name, authority, migrated_at }) =>
          /^[^.]+\.eth$/.test(name) && authority === "ens_v2" && migrated_at,
      );
      const leased = came.flatMap(({ name, registered_at, registration_id, migrated_at }) => {
        const [label = ""] = name.split(".");
        const leases = index.logs.filter(
          ({ topics, blockNumber }) =>
            topics[0] === topic && topics[1] === labelhashIn(label) && Number(blockNumber) <= snapshot.block,
        );
        const timestamp = timeOf.get(Number(leases.at(-1)?.blockNumber));
        expect([name, registered_at]).toEqual([name, timestamp ?? migrated_at]);
        expect(registration_id?.split("-").at(-1)).toBe(migrated_at);
        return timestamp === undefined ? [] : [name];
      });
      expect(leased.length).toBeGreaterThan(5);
    });

  if (snapshot.block === 879)
    test("names of an address by authority, and those that came over", async () => {
      const owned = Map.groupBy(rows.values(), ({ owner }) => owner);
      const busiest = [...owned].filter(([owner]) => owner).sort((a, b) => b[1].length - a[1].length);
      let seen = 0;
      for (const [owner] of busiest.slice(0, 2)) {
        const path = `/v1/addresses/${owner}/names?relation=owner`;
        const all = await v1.all(path);
        const listed = async (query: string) => (await v1.all(`${path}&${query}`)).map(({ name }) => name);
        const meant = (is: (row: NameRow) => boolean) => all.filter(is).map(({ name }) => name);
        for (const word of ["ens_v0", "ens_v1", "ens_v2"])
          expect(await listed(`authority=${word}`)).toEqual(meant(({ authority }) => authority === word));
        const came = meant((row) => row.authority === "ens_v2" && row.migrated_at !== undefined);
        seen += came.length;
        expect(await listed("is_migrated=true&dedupe=name")).toEqual(came);
        expect(await listed("is_migrated=false")).toEqual(meant(({ name }) => !came.includes(name)));
        const { page } = await v1.get(`${path}&is_migrated=true&page_size=1`);
        expect(page.total_count).toBe(came.length);
      }
      expect(seen).toBeGreaterThan(0);
    });

  test("an address finds the names for which calls return it, but not by aliases", async () => {
    const returned = new Map(
      snapshot.names.map(({ labels, answers }) => [nameOf(labels), some(answers.addr)]),
    );
    const aliased = ["alias.eth", "sub.alias.eth", "sub2.parent.eth", "wallet.linked.parent.eth"];
    for (const name of aliased) returned.delete(name);
    const addresses = new Set([...returned.values(), ...[...rows.values()].map(({ owner }) => owner)]);
    let seen = 0;
    for (const address of addresses)
      for (const coin of address === undefined ? [] : ["60", "evm"]) {
        const path = `/v1/addresses/${address}/names?relation=resolves_to&coin_type=${coin}`;
        const listed = (await v1.all(path))
          .filter(({ resolutions }) => resolutions?.some(({ coin_type }) => coin_type === 60) ?? true)
          .flatMap(({ name }) => (returned.has(name) ? name : []));
        const meant = [...returned].flatMap(([name, one]) => (one === address ? name : []));
        expect(listed, `${address} ${coin}`).toEqual(meant.sort());
        seen += meant.length;
      }
    expect(seen).toBeGreaterThan(100);
  });

  // Records of the recorded chain have ABIs of type 1. Of one that was cleared with its record the generation is older.
  if (snapshot.block === 879)
    test("content types of ABIs, keys of agents and proofs of accounts under record ids, since the record was last cleared", async () => {
      const [context, old] = ["agent-context", "agent-old"].map(
        (key) => `0x${Buffer.from(key).toString("hex")}`,
      );
      const [account, formerly] = [`0x${"ac".repeat(20)}`, `0x${"af".repeat(20)}`];
      const proof = `0x${Buffer.from(`accounts[1][${account}]`).toString("hex")}`;
      await stored.client.exec(
        `INSERT INTO v2_records (chain_id, resolver, record_id, key_hash, kind, key, value, generation, account)
         SELECT DISTINCT l.chain_id, l.resolver, l.record_id, 'new:' || a.key || a.age, a.kind, a.key, a.value, coalesce(g.generation, 0) - a.age, a.account
         FROM v2_record_links l LEFT JOIN v2_record_generations g USING (chain_id, resolver, record_id)
         CROSS JOIN (VALUES ('abi', '8', NULL, 0, NULL), ('abi', '4', NULL, 0, NULL), ('abi', '2', NULL, 1, NULL),
           ('text', '${context}', '0x61', 0, NULL), ('text', '${old}', '0x61', 1, NULL),
           ('data', '${proof}', '0x61', 0, '${account}'), ('data', '${proof}', '0x61', 1, '${formerly}'))
           a (kind, key, value, age, account) WHERE l.record_id <> 0`,
      );
      const links = await stored.client.query<{ node: string; resolver: Hex }>(
        "SELECT node, resolver FROM v2_record_links WHERE record_id <> 0",
      );
      const linked = [...rows.values()].filter(({ namehash, resolver, authority }) =>
        links.rows.some(
          (one) => authority === "ens_v2" && one.node === namehash && one.resolver === resolver?.address,
        ),
      );
      expect(linked.length).toBeGreaterThan(0);
      const { data } = await v1.post({ inputs: linked.map(({ name }) => ({ name })) });
      const agents = await v1.all("/v1/names?namespace=ens&record_key_prefix=agent-context", 50);
      const former = await v1.all("/v1/names?namespace=ens&record_key_prefix=agent-old", 50);
      const claiming = async (address: string) =>
        (await v1.all(`/v1/addresses/${address}/names?relation=owned_account`, 50)).map(
          (one) => one.namehash,
        );
      const [claimed, noMore] = [await claiming(account), await claiming(formerly)];
      await stored.client.exec("DELETE FROM v2_records WHERE key_hash LIKE 'new:%'");
      expect(data.map(({ record }) => record.records?.seen_abis)).toEqual(linked.map(() => ["1", "4", "8"]));
      const names = agents.map(({ namehash }) => namehash);
      expect(names).toEqual(expect.arrayContaining(linked.map(({ namehash }) => namehash)));
      expect([new Set(names).size, former]).toEqual([names.length, []]);
      expect([claimed.sort(), noMore]).toEqual([names.sort(), []]);
    });

  test("histories have each event of a name's entry, as the contracts emitted it", async () => {
    const hostile = new Set(
      Object.entries(snapshot.registries).flatMap(([registry, one]) => (one.hostile ? registry : [])),
    );
    const listed = snapshot.names.filter(
      ({ labels, registry, exists }) =>
        labels.length > 1 && exists && registry !== null && !hostile.has(registry),
    );
    const shown = new Map<string, string[]>();
    const members = new Set<string>();
    const paths = new Map<string, string>();
    let [migrations, transfers] = [0, 0];
    for (const { labels, registry } of listed.filter((_, position) => position % 7 === 0)) {
      const name = nameOf(labels);
      if (rows.get(name)?.registry_path?.at(-1) !== registry || Buffer.byteLength(name) > 500) continue;
      const { data } = await v1.get<Entry[]>(
        `/v1/names/${encodeURIComponent(name)}/history?include=raw,data&page_size=200`,
      );
      const own = data.filter(({ kind }) => kind in topicOf || kind === "Migration");
      migrations += own.filter(({ type }) => type === "migration").length;
      transfers += own.filter(({ type }) => type === "transfer").length;
      const found = own.map((one) => `${one.transaction_hash} ${one.log_index}`);
      shown.set(name, found);
      expect(found.sort(), name).toEqual(eventsOfEntry(registry ?? "0x", labels[0] ?? "0x", snapshot.block));
      for (const entry of own) {
        expect(entry.contract_address).toBe(registry);
        const log = `${entry.transaction_hash} ${entry.log_index}`;
        const { resolver, subregistry, ...told } = toldBy(entry, log);
        const paid = entry.kind === "LabelRegistered" ? paidFor(entry) : {};
        expect(entry.data, `${name} ${log}`).toMatchObject({ ...told, ...paid });
        expect([entry.data["resolver"] ?? {}, entry.data["subregistry"] ?? {}]).toEqual([
          resolver ?? {},
          subregistry ?? {},
        ]);
        for (const member of Object.keys(entry.data)) members.add(`${entry.type} ${member}`);
      }
    }
    expect(shown.size).toBeGreaterThan(10);
    if (snapshot.block === 879) {
      expect([migrations > 0, transfers > 0]).toEqual([true, true]);
      for (const member of ["cost", "payment_token", "referrer", "action_id"])
        expect(members).toContain(`registration ${member}`);
    }
    // Those of one registry.
    const [busiest = "0x", names = []] =
      [...Map.groupBy(listed, ({ registry }) => registry ?? "0x")].sort(
        (a, b) => b[1].length - a[1].length,
      )[0] ?? [];
    const events = await v1.all<Entry>(`/v1/events?contract_address=${busiest}&include=raw,data`);
    expect(new Set(events.map(({ contract_address }) => contract_address))).toEqual(new Set([busiest]));
    const emitted = events.map(({ transaction_hash, log_index }) => `${transaction_hash} ${log_index}`);
    const own = names.filter(({ labels }) => shown.has(nameOf(labels)));
    expect(own.length).toBeGreaterThan(0);
    for (const { labels } of own)
      for (const log of eventsOfEntry(busiest, labels[0] ?? "0x", snapshot.block)) {
        expect(emitted).toContain(log);
      }
    // All events, and those of whom they went to.
    const { data: latest } = await v1.get<Entry[]>(
      "/v1/events?type=migration&include=raw,data&page_size=200",
    );
    for (const { name, timestamp, data } of latest) {
      expect(rows.get(name)?.migrated_at ?? timestamp, name).toBe(timestamp);
      paths.set(name, String(data["migration_path"]));
    }
    if (snapshot.block === 879) for (const [name, path] of migrated) expect(paths.get(name), name).toBe(path);
    const [one] = latest;
    if (one === undefined) return;
    const of = await v1.get<Entry[]>(
      `/v1/addresses/${one.data["registrant"]}/history?type=migration&include=raw&page_size=200`,
    );
    expect(of.data.map(({ id }) => id)).toContain(one.id);
  });

  if (snapshot.block === 879)
    test("registrations of subnames, as the name's registry emitted them", async () => {
      // Of a registry below a name of its own, names further down have no subnames.
      const circles = new Set(
        snapshot.names
          .filter(({ labels }) => isInCircle(snapshot, ["0x", ...labels]))
          .map(({ labels }) => nameOf(labels)),
      );
      let seen = 0;
      for (const { name, authority, subregistry } of rows.values()) {
        const registry = (subregistry?.address ?? "0x") as Hex;
        const of = [root, ETHRegistry].includes(registry) ? undefined : snapshot.registries[registry];
        if (authority !== "ens_v2" || of === undefined || of.hostile || circles.has(name)) continue;
        const registered = index.logs.filter(
          ({ address, topics, blockNumber }) =>
            address === registry && topics[0] === topicOf["LabelRegistered"] && Number(blockNumber) <= 879,
        );
        const path = `/v1/names/${encodeURIComponent(name)}/history?include=child_registrations,data`;
        const entries = await v1.all<Entry & { subject: string }>(path);
        const children = entries.filter(({ subject }) => subject === "child");
        const found = children.map(({ transaction_hash, log_index }) => `${transaction_hash} ${log_index}`);
        const meant = registered.map((log) => `${log.transactionHash} ${Number(log.logIndex)}`);
        expect(found.sort(), name).toEqual(meant.sort());
        for (const child of children)
          expect([child.name.split(".").slice(1).join("."), child.contract_address]).toEqual([
            name,
            registry,
          ]);
        const own = entries.filter(({ subject }) => subject === "name");
        const { data, page } = await v1.get<Entry[]>(
          `/v1/names/${encodeURIComponent(name)}/history?page_size=200`,
        );
        if (!page.has_more) expect(own.map(({ id }) => id)).toEqual(data.map(({ id }) => id));
        seen += children.length;
      }
      expect(seen).toBeGreaterThan(20);
    });

  if (snapshot.block === 350)
    test("an address has the history of each name that it holds or held", async () => {
      const histories = new Map<string, Entry[]>();
      for (const { name } of rows.values())
        histories.set(
          name,
          await v1.all<Entry>(`/v1/names/${encodeURIComponent(name)}/history?include=data`),
        );
      const receivers = ["registrant", "owner", "to", "address"];
      const isTo = (who: string | undefined) => (entry: Entry) =>
        entry.type !== "record" && receivers.some((member) => entry.data[member] === who);
      const owned = Map.groupBy(rows.values(), ({ owner }) => owner);
      const busiest = [...owned].filter(([owner]) => owner).sort((a, b) => b[1].length - a[1].length);
      for (const [owner] of busiest.slice(0, 3)) {
        const held = [...histories].filter(([, entries]) => entries.some(isTo(owner)));
        expect(held.length).toBeGreaterThan(3);
        const meant = held.flatMap(([, entries]) => entries).map(({ id }) => id);
        const found = await v1.all<Entry>(`/v1/addresses/${owner}/history?relation=any`);
        const ofRows = found.filter(({ name }) => rows.has(name)).map(({ id }) => id);
        expect(ofRows.sort()).toEqual([...new Set(meant)].sort());
        const { meta } = await v1.get(`/v1/addresses/${owner}/history?relation=any&page_size=1`);
        expect(meta).not.toHaveProperty("completeness");
      }
    });

  test("changes of roles on a whole registry add up to those that it says", async () => {
    const isKnown = ([address, { contract, hostile }]: [string, Snapshot["registries"][Hex]]) =>
      contract && !hostile && address !== zeroAddress;
    const holders = new Map<string, Entry[]>();
    for (const [registry, { rootRoles }] of Object.entries(snapshot.registries).filter(isKnown)) {
      const asked = `/v1/events?contract_address=${registry}&kind=RootPermissionChanged&include=data,raw`;
      const entries = await v1.all<Entry>(`${asked}&order=asc`, 3);
      const emitted = index.logs.filter(
        ({ address, topics, blockNumber }) =>
          address === registry &&
          topics[0] === topicOf["EACRolesChanged"] &&
          BigInt(topics[1] ?? 0) === 0n &&
          Number(blockNumber) <= snapshot.block,
      );
      const positions = entries.map(({ transaction_hash, log_index }) => `${transaction_hash} ${log_index}`);
      expect(positions, registry).toEqual(
        emitted.map((log) => `${log.transactionHash} ${Number(log.logIndex)}`),
      );
      const roles = new Map<unknown, bigint>();
      for (const { data, ...entry } of entries) {
        const { address, old_role_bitmap, new_role_bitmap } = data;
        const grant_scope = { kind: "root", detail: { registry: located(registry as Hex) } };
        expect(data).toMatchObject({ action: "permission_changed", grant_scope });
        expect(entry).toMatchObject({
          type: "permission",
          registration_id: null,
          contract_address: registry,
        });
        expect([entry.name, entry.namehash, data["token_id"]]).toEqual([undefined, undefined, undefined]);
        expect(BigInt(String(old_role_bitmap))).toBe(roles.get(address) ?? 0n);
        roles.set(address, BigInt(String(new_role_bitmap)));
        holders.set(String(address), [...(holders.get(String(address)) ?? []), { ...entry, data }]);
      }
      const held = [...roles].filter(([, bitmap]) => bitmap !== 0n);
      expect(
        Object.fromEntries(held.map(([account, bitmap]) => [account, `0x${bitmap.toString(16)}`])),
      ).toEqual(rootRoles);
    }
    expect(holders.size).toBeGreaterThan(3);
    // The roles page of a registry asks for one account.
    for (const [account, changes] of holders) {
      const ofAccount = await v1.all<Entry>(
        `/v1/events?kind=RootPermissionChanged&address=${account}&include=data`,
      );
      const ids = ofAccount.map(({ id }) => id);
      expect(ids).toEqual(expect.arrayContaining(changes.map(({ id }) => id)));
      const [{ contract_address } = { contract_address: "" }] = changes;
      const ofBoth = `/v1/events?contract_address=${contract_address}&address=${account}&kind=RootPermissionChanged&include=data,raw&order=desc`;
      const meant = changes.filter((one) => one.contract_address === contract_address);
      expect((await v1.all<Entry>(ofBoth)).map(({ id }) => id)).toEqual(meant.map(({ id }) => id).reverse());
      const historyOf = async (query: string) =>
        (await v1.all<Entry>(`/v1/addresses/${account}/history?type=permission&include=raw&${query}`))
          .filter(({ kind }) => kind === "RootPermissionChanged")
          .map(({ id }) => id);
      expect(await historyOf("relation=role_holder")).toEqual(ids);
      expect(await historyOf("")).toEqual(ids);
      for (const query of ["relation=owner,manager", "relation=any&scope=name"])
        expect(await historyOf(query)).toEqual([]);
    }
  });

  test("lists find each name by what is in force", async () => {
    const circles = snapshot.names.filter(({ labels }) => isInCircle(snapshot, labels));
    const inCircles = new Set(circles.map(({ labels }) => nameOf(labels)));
    for (const name of ["test.toeth.eth", "test.eth.toroot.eth", "self.self.cycle.eth"]) {
      expect(inCircles).toContain(name);
      expect(rows.get(name), name).toMatchObject({ status: "active", authority: "ens_v2" });
    }
    const listedRows = [...rows.values()].filter(({ name }) => !inCircles.has(name));
    const owned = Map.groupBy(listedRows, ({ owner }) => owner);
    const busiest = [...owned]
      .filter(([owner]) => owner !== undefined && owner !== Graveyard)
      .sort((a, b) => b[1].length - a[1].length)
      .slice(0, 3);
    const namesOf = (listed: readonly NameRow[]) =>
      listed.map(({ name }) => name).filter((name) => rows.has(name));
    for (const [owner, own] of busiest) {
      const listed = await v1.get<NameRow[]>(`/v1/addresses/${owner}/names?relation=owner&page_size=200`);
      expect(namesOf(listed.data).slice(0, 150)).toEqual(namesOf(own).sort().slice(0, 150));
      const found = await v1.post({ inputs: [{ address: owner, page_size: 200, relation: "owner" }] });
      // Its primary name is the first.
      expect(namesOf(found.data[0]?.records ?? []).sort()).toEqual(namesOf(listed.data));
    }
    const known = new Map(listedRows.map((row) => [row.name, row]));
    const below = await v1.all("/v1/names/eth/subnames?include=counts");
    for (const { name, subregistry, subname_count } of below.filter((_, at) => at % 8 === 0)) {
      const { data } = await v1.get<NameRow>(`/v1/names/${encodeURIComponent(name)}?include=counts`);
      expect([name, subregistry, subname_count]).toEqual([name, data.subregistry, data.subname_count]);
    }
    const pages = async (path: string) => (await v1.all(path)).filter(({ name }) => known.has(name));
    const statesOf = (found: readonly NameRow[]) =>
      found.map(({ name, status, expires_at }) => `${name} ${status} ${expires_at}`).sort();
    const underEth = [...known.values()].filter(({ name }) => /^[^.]+\.eth$/.test(name));
    expect(statesOf(await pages("/v1/names/eth/subnames?sort=name"))).toEqual(statesOf(underEth));
    const dated = [...known.values()].filter(({ expires_at }) => Number(expires_at ?? 0) > 0);
    const due = await pages("/v1/names?namespace=ens&expires_after=1");
    expect(statesOf(due)).toEqual(statesOf(dated));
    const start = [...known.values()].filter(({ name }) => name.startsWith("re"));
    expect(statesOf(await pages("/v1/search?q=re"))).toEqual(statesOf(start));
    // It finds no more typing errors of so short a text, and no more than a hundred names.
    expect(start.length).toBeLessThan(100);
    expect(statesOf(await pages("/v1/search?q=re&sort=relevance"))).toEqual(statesOf(start));
    expect(underEth.length).toBeGreaterThan(10);
  });

  test("deadlines and calendars have the dates of the generation in force", async () => {
    const expected = new Map(
      snapshot.authority.flatMap((one): [string, Facts][] => {
        const facts = expectedUnderEth(snapshot, one);
        const name = nameOf([one.raw, "0x657468"]);
        const isPlain = /^[a-z0-9-]{1,60}\.eth$/.test(name);
        return isPlain && typeof facts["grace_ends_at"] === "string" ? [[name, facts]] : [];
      }),
    );
    const due = await v1.all("/v1/names?namespace=ens&parent=eth&grace_ends_after=1");
    expect(due.map(({ grace_ends_at }) => Number(grace_ends_at))).toEqual(
      due.map(({ grace_ends_at }) => Number(grace_ends_at)).sort((a, b) => a - b),
    );
    const datesOf = (all: Iterable<readonly [string, Facts]>) =>
      Array.from(all, ([name, facts]) => `${name} ${facts["expires_at"]} ${facts["grace_ends_at"]}`).sort();
    const listed = due.map((row) => [row.name, row] as const).filter(([name]) => expected.has(name));
    expect(datesOf(listed)).toEqual(datesOf(expected));
    expect(new Set(listed.map(([, { authority }]) => authority))).toEqual(new Set(["ens_v1", "ens_v2"]));

    const living = [...expected].filter(([, { owner, status }]) => owner && status !== "released");
    const byOwner = [...Map.groupBy(living, ([, { owner }]) => String(owner))];
    for (const [owner, own] of byOwner.sort((a, b) => b[1].length - a[1].length).slice(0, 5)) {
      const calendar = await v1.text(`/v1/addresses/${owner}/calendar.ics`);
      // Whom the wrapper holds a name for is not recorded.
      const shown = summariesOf(calendar).filter((summary) => {
        const name = summary.replace(/^Grace period of /, "").replace(/ (expires|ends)$/, "");
        return expected.get(name)?.["owner"] !== undefined;
      });
      const dates = own.flatMap(([name, { status }]) => [
        ...(status === "expired" ? [] : [`${name} expires`]),
        `Grace period of ${name} ends`,
      ]);
      expect(shown.sort(), owner).toEqual(dates.sort());
    }
    expect(byOwner.length).toBeGreaterThan(2);
  });

  if (snapshot.block === 879)
    test("who held a name of ENSv2 finds it in its grace period and after, among those that it held", async () => {
      const entries = snapshot.authority.flatMap(({ raw, authority, v1 }) => {
        const entry = snapshot.registries[ETHRegistry]?.entries.find((one) => one.raw === raw);
        const name = nameOf([raw, "0x657468"]);
        const isLasting = String(entry?.expiry) === forever || Buffer.byteLength(name) > 500;
        // Where ENSv1 has a lease, that may count again.
        return authority === "v2" && v1 === null && entry && !isLasting ? [{ name, ...entry }] : [];
      });
      const [first] = entries.sort((a, b) => Number(a.expiry) - Number(b.expiry));
      const [owner, expiry] = [some(first?.owner), Number(first?.expiry)];
      const formerAt = async (time: number, window: string) =>
        (
          await open(time).all<NameRow>(
            `/v1/addresses/${owner}/names?relation=former_owner&parent=eth${window}`,
          )
        )
          .filter(({ name }) => name === first?.name)
          .map(({ status, authority, relations, lapsed_registration, ...row }) => [
            ...[status, authority, relations, row.owner, lapsed_registration?.owner],
            ...[lapsed_registration?.release_kind, row.expires_at, row.grace_ends_at],
          ]);
      const ends = [String(expiry), String(BigInt(expiry) + graceOfV2)];
      const lapsed = ["ens_v2", ["former_owner"], undefined, owner, "expired", ...ends];
      const grace = Number(graceOfV2);
      // The window of the manager's list of names in grace.
      const window = (time: number) =>
        `&sort=expires_at&order=asc&expires_after=${time - grace}&expires_before=${time + 1}`;
      for (const time of [expiry, expiry + grace - 1])
        expect(await formerAt(time, window(time))).toEqual([["expired", ...lapsed]]);
      expect(await formerAt(expiry - 1, "")).toEqual([]);
      expect(await formerAt(expiry + grace, "")).toEqual([["released", ...lapsed]]);
      expect(await formerAt(expiry + grace + 1, window(expiry + grace + 1))).toEqual([]);
    });

  test("reminders have the deadlines of the generation in force, each once", async () => {
    const { database, namespaces } = v1.context.lookup;
    const premium = 21 * 86_400;
    const dueAt = async (moment: number, reminder: string, asked: { node?: string; address?: string }) => {
      const source = { database, namespaces, times: () => namespaces.map(() => moment) };
      const ask = { node: undefined, address: undefined, ...asked, namespace: "ens", limit: 50 };
      const found: string[] = [];
      for (let place: ReminderPlace = [String(moment - 60), "", ""]; ; ) {
        const asks = { ...ask, reminders: [reminder] };
        const part = await readReminders(source, place, asks, new AbortController().signal);
        if (part === undefined) return found;
        found.push(...part.reminders.map(({ data }) => `${data.name} ${data.authority} ${data.due_at}`));
        place = part.place;
      }
    };
    const told = { ens_v1: 0, ens_v2: 0 };
    for (const one of snapshot.authority) {
      const { owner, expires_at, grace_ends_at, authority, status } = expectedUnderEth(snapshot, one);
      const name = nameOf([one.raw, "0x657468"]);
      const [expiry, end] = [Number(expires_at ?? 0), Number(grace_ends_at ?? 0)];
      // Only names that stay in their generation until then: of both, ENSv1 may count again once ENSv2's has ended.
      const isBoth = one.authority === "v2" && one.v1 !== null;
      if (!/^[a-z0-9-]{1,60}\.eth$/.test(name) || end === 0 || status !== "active" || isBoth) continue;
      const kind = authority === "ens_v2" ? "ens_v2" : "ens_v1";
      if (++told[kind] > 3) continue;
      const node = namehash(name);
      const moments = [
        ["7d", expiry - 7 * 86_400],
        ["grace_begins", expiry],
        ["grace_ends", end],
        ["premium_ends", end + premium],
      ] as const;
      for (const [reminder, moment] of moments) {
        const line = `${name} ${kind} ${moment}`;
        expect(await dueAt(moment, reminder, { node }), reminder).toEqual([line]);
        if (owner !== undefined)
          expect(await dueAt(moment, reminder, { address: String(owner) })).toContain(line);
        expect(await dueAt(moment - 1, reminder, { node })).toEqual([]);
      }
    }
    expect(Object.values(told).every((count) => count > 0)).toBe(true);
  });

  // Ten years later; nobody renews meanwhile.
  if (snapshot.block === 879)
    test("a lease is released once its grace period is over, unless ENSv2 had the name before", async () => {
      const time = snapshot.timestamp + 10 * 365 * 86_400;
      const later = open(time);
      let broughtOver = 0;
      for (const { raw, authority, v1 } of snapshot.authority) {
        const name = nameOf([raw, "0x657468"]);
        if (v1 === null || !rows.has(name) || Buffer.byteLength(name) > 500) continue;
        const end = BigInt(v1.expires) + graceOfV1;
        if (end >= BigInt(time)) continue;
        const { data } = await later.get<Entry[]>(
          `/v1/names/${encodeURIComponent(name)}/history?type=release&include=raw&page_size=200`,
        );
        const released = data.filter(({ kind }) => kind === "Release").map(({ timestamp }) => timestamp);
        if (authority === "v1" && !v1.graveyard) {
          expect(released.at(0), name).toBe(String(end + 1n));
        } else if (authority === "v2") {
          expect(released, name).not.toContain(String(end + 1n));
          broughtOver += 1;
        }
      }
      expect(broughtOver).toBeGreaterThan(2);
    });
});
