import { decodeEventLog, type Hex, hexToBytes, parseAbi, toEventSelector } from "viem";
import { beforeAll, describe, expect, test } from "vitest";
import { v2Addresses, v2ChainId, v2Environment, v2Folder } from "../../../devnet/recorded-chains.ts";
import { readRecording } from "../../../devnet/recording.ts";
import { readTruth, type Snapshot, type TrueEntry } from "../../../test/support/ensv2/recording.ts";
import { createStoredIndex } from "../../../test/support/ensv2/stored-index.ts";
import { openLookups } from "../../../test/support/lookups/lookups.ts";
import { createV2Index, type PlayedLog } from "../../../test/support/recorded-index.ts";
import { zeroAddress } from "../../ens/ids.ts";
import { keccak256 } from "../../ens/keccak.ts";
import { namehash } from "../../ens/names.ts";
import { isNormalizedLabel } from "../../ens/normalization.ts";
import type { NameRow } from "../../read/names/rows.ts";

// What /v1 says of resolvers and registries of ENSv2 against what calls returned, and what logs of the recorded chain
// tell.
const index = createV2Index();
const plugins = v2Environment.PLUGINS.split(",");
const stored = await createStoredIndex({ withEvents: true });
const open = (time: number) =>
  openLookups({ database: stored.database, datasources: index.config.datasources, plugins, time });
const {
  RootRegistry: root = "0x",
  ETHRegistry: eth = "0x",
  ENSRegistry = "0x",
  PublicResolver = "0x",
  PublicResolverV2 = "0x",
  ENSV1Resolver = "0x",
} = v2Addresses as Record<string, Hex>;

type Located = { chain_id: number; address: Hex };
type Names = { data: NameRow[]; page: { total_count: number | null; next_cursor: string | null } };
type Overview = {
  name: NameRow | null;
  parent_registry: Located | null;
  counts: { labels: number | null; roles?: number };
  referenced_by: Names;
};
type Meta = {
  completeness?: string;
  unsupported_fields?: string[];
  unsupported_reason?: string;
};

const partOf = (raw: Hex) => {
  const text = Buffer.from(raw.slice(2), "hex").toString("utf8");
  return isNormalizedLabel(text) ? text : `[${keccak256(hexToBytes(raw)).slice(2)}]`;
};
const nameOf = (labels: readonly Hex[]) => labels.map(partOf).join(".");
const some = (address: Hex | null | undefined) =>
  address === zeroAddress ? undefined : (address ?? undefined);
const isSet = (bitmap: Hex) => BigInt(bitmap) !== 0n;
const isLive = ({ expiry }: TrueEntry, { timestamp }: Snapshot) => Number(expiry) > timestamp;
const byText = (a: string, b: string) => (a < b ? -1 : 1);

const abi = parseAbi([
  "event EACRolesChanged(uint256 indexed resource, address indexed account, uint256 oldRoleBitmap, uint256 newRoleBitmap)",
  "event Linked(uint256 indexed recordId, bytes32 indexed node, bytes name)",
]);

const times = new Map(
  readRecording(v2Folder).blocks.map(({ number, timestamp }) => [Number(number), String(Number(timestamp))]),
);
const placeOf = (log: Pick<PlayedLog, "blockNumber" | "transactionHash" | "logIndex">) => ({
  block_number: Number(log.blockNumber),
  timestamp: times.get(Number(log.blockNumber)),
  transaction_hash: log.transactionHash,
  log_index: Number(log.logIndex),
});
const fixed: string[] = [root, eth];
const deployed = "0x0a2c575ff341b41da136c9ccae74ec230a927a024d18f0dccf46d123f28f5f54";
const at = (address: string) => `${v2ChainId}/${address}`;

describe.each(readTruth().filter(({ block }) => [350, 879].includes(block)))(
  "at block $block",
  (snapshot) => {
    let v1: ReturnType<typeof open>;
    beforeAll(async () => {
      await index.playTo(snapshot.block);
      await stored.store(index);
      v1 = open(snapshot.timestamp);
    });
    const registryOf = (address: string, query = "include=counts") =>
      v1.get<Overview>(`/v1/registries/${at(address)}?${query}`);
    const logsOf = (address: string, event: (typeof abi)[number]["name"]) =>
      index.logs
        .filter((log) => log.address === address && Number(log.blockNumber) <= snapshot.block)
        .filter(({ topics }) => topics[0] === toEventSelector(abi.find(({ name }) => name === event)!))
        .map(({ topics, data, ...log }) => ({
          ...decodeEventLog({ abi, topics: topics as [Hex, ...Hex[]], data }).args,
          position: placeOf(log),
        }));

    const isProven = ([, one]: [string, Snapshot["registries"][Hex]]) =>
      one.contract && !one.hostile && one.parentClaim !== null;
    const registries = Object.entries(snapshot.registries);
    const proven = registries.filter(isProven);

    test("registries have the labels, owners and roles that calls return", async () => {
      let [seen, held] = [0, 0];
      for (const [address, { entries, rootRoles }] of proven) {
        const { status, data } = await registryOf(address);
        if (entries.length === 0 && status === 404) continue;
        const labels = entries.filter((one) => some(one.latestOwner) || isLive(one, snapshot));
        const { name } = data;
        const [creation] = index.logs.flatMap((log) =>
          Number(log.blockNumber) <= snapshot.block &&
          log.topics[0] === deployed &&
          `0x${log.topics[2]?.slice(26)}` === address
            ? placeOf(log)
            : [],
        );
        expect(data).toMatchObject({
          created_basis: fixed.includes(address) ? "declared" : "registry_created",
          created_block_number: creation?.block_number ?? null,
          created_at: creation?.timestamp ?? null,
          created_transaction_hash: creation?.transaction_hash ?? null,
        });
        expect(data.counts.labels, address).toBe(name === null ? 0 : labels.length);
        const roles = [rootRoles, ...entries.filter((one) => isLive(one, snapshot)).map((one) => one.roles)];
        expect(data.counts.roles, address).toBe(roles.flatMap(Object.values).filter(isSet).length);
        const rows = await v1.all(`/v1/registries/${at(address)}/labels?include=counts`, 120);
        const found = rows.map(({ name, labelhash, owner, subregistry, role_holder_count }) => ({
          ...{ name, labelhash, owner, role_holder_count },
          subregistry: subregistry?.address,
        }));
        const expected = labels.map((one) => ({
          name: `${partOf(one.raw)}.${name?.name}`,
          labelhash: keccak256(hexToBytes(one.raw)),
          owner: some(one.latestOwner),
          role_holder_count: isLive(one, snapshot) ? Object.values(one.roles).filter(isSet).length : 0,
          subregistry: some(one.subregistry),
        }));
        expect(found, address).toEqual(name === null ? [] : expected.sort((a, b) => byText(a.name, b.name)));
        seen += found.length;
        held += found.filter(({ owner }) => owner === undefined).length;
      }
      expect([seen > 100, held > 0]).toEqual([true, true]);
    });

    test("registries have the names that lead to them", async () => {
      const hostile = new Set(registries.flatMap((one) => (isProven(one) ? [] : one[0])));
      let seen = 0;
      for (const [address] of registries) {
        const leading = snapshot.names.filter(
          ({ subregistry, registry, exists }) =>
            subregistry === address && exists === 2 && registry !== null && !hostile.has(registry),
        );
        const names = leading.map(({ labels }) => nameOf(labels));
        const { status, data } = await registryOf(address, "include=counts&page_size=200");
        if (status === 404) {
          expect(names, address).toEqual([]);
          continue;
        }
        const referring = data.referenced_by.data.map(({ name }) => name);
        expect(referring, address).toEqual(expect.arrayContaining(names));
        expect(data.referenced_by.page.total_count).toBe(referring.length);
        expect(referring).toEqual([...referring].sort(byText));
        if (address === root) expect(data.name).toBeNull();
        else if (names.length > 0) expect(referring).toContain(data.name?.name);
        if (data.name) expect(data.name.namehash).toBe(namehash(data.name.name));
        const parents = leading.filter(({ labels }) => nameOf(labels) === data.name?.name);
        for (const { registry } of parents)
          expect(data.parent_registry).toEqual({ chain_id: v2ChainId, address: registry });
        seen += names.length;
      }
      expect(seen).toBeGreaterThan(5);
      expect((await registryOf(eth)).data.name?.name).toBe("eth");
    });

    test("labels by owner", async () => {
      const held = (snapshot.registries[eth]?.entries ?? []).filter(
        (one) => some(one.latestOwner) || isLive(one, snapshot),
      );
      const [owner = "0x", own = []] =
        [...Map.groupBy(held, ({ latestOwner }) => latestOwner ?? "0x")]
          .filter(([one]) => one !== zeroAddress)
          .sort((a, b) => b[1].length - a[1].length)[0] ?? [];
      const labels = `/v1/registries/${at(eth)}/labels`;
      const ofOwner = await v1.get<NameRow[]>(
        `${labels}?page_size=200&owner=${owner.toUpperCase().replace("0X", "0x")}`,
      );
      expect(ofOwner.data.map(({ name }) => name)).toEqual(
        own.map(({ raw }) => `${partOf(raw)}.eth`).sort(byText),
      );
      const others = await v1.get<NameRow[]>(`${labels}?page_size=1&exclude_owner=${owner}`);
      expect([ofOwner.page.total_count, others.page.total_count]).toEqual([
        own.length,
        held.length - own.length,
      ]);
      expect(own.length).toBeGreaterThan(1);
      const both = await v1.get(`${labels}?owner=${owner}&exclude_owner=${owner}`);
      expect([both.status, both.error.code]).toEqual([400, "invalid_input"]);
      expect((await v1.get(`${labels}?owner=&exclude_owner=${owner}&finality=latest`)).status).toBe(200);
      expect((await v1.get(`${labels}?finality=safe`)).status).toBe(400);
    });

    test("only the chain knows what is in registries of unknown code", async () => {
      let seen = 0;
      for (const [address] of registries.filter((one) => !isProven(one))) {
        const { status, data, meta } = await registryOf(address);
        if (status === 404) continue;
        seen += 1;
        const unsupported_reason = "registry_enumeration_not_supported";
        expect(data.counts).toEqual({ labels: null });
        expect(meta as Meta).toMatchObject({
          completeness: "partial",
          unsupported_fields: ["counts"],
          unsupported_reason,
        });
        const labels = await v1.get<NameRow[]>(`/v1/registries/${at(address)}/labels`);
        expect(labels).toMatchObject({
          data: [],
          page: { total_count: null },
          meta: { completeness: "unsupported", unsupported_reason },
        });
      }
      expect(seen).toBeGreaterThan(1);
    });

    const resolvers = () => {
      const own = snapshot.names.filter(({ resolver, exists }) => resolver?.offset === 0 && exists === 2);
      return [...Map.groupBy(own, ({ resolver }) => resolver?.address ?? zeroAddress)];
    };
    const boundTo = async (address: string) => {
      const names: NameRow[] = [];
      for (let next = ""; ; ) {
        const { data } = await v1.get<{ bound_names: Names }>(
          `/v1/resolvers/${at(address)}?page_size=20${next}`,
        );
        names.push(...data.bound_names.data);
        expect(data.bound_names.page.total_count).toBeNull();
        if (data.bound_names.page.next_cursor === null) return names;
        next = `&cursor=${data.bound_names.page.next_cursor}`;
      }
    };

    test("resolvers have the names whose entry or first-generation record points to them", async () => {
      let seen = 0;
      for (const [address, names] of resolvers()) {
        if (address === ENSV1Resolver) continue;
        const bound = await boundTo(address);
        const found = bound.map(({ name }) => name);
        const ofV2 = names
          .map(({ labels }) => nameOf(labels))
          .filter((name) => Buffer.byteLength(name) <= 2_000);
        expect(found, address).toEqual(expect.arrayContaining(ofV2));
        expect(bound.every(({ resolver }) => resolver?.address === address)).toBe(true);
        expect(bound.map(({ namehash }) => namehash)).toEqual(bound.map(({ namehash }) => namehash).sort());
        expect(new Set(found).size).toBe(found.length);
        seen += found.length;
      }
      expect(seen).toBeGreaterThan(20);
      // Under .eth, the generation in force decides.
      const bound = new Set((await boundTo(PublicResolver)).map(({ name }) => name));
      let ofV1 = 0;
      for (const { raw, authority, v1: lease } of snapshot.authority) {
        const name = nameOf([raw, "0x657468"]);
        if (authority === "v2" || authority === "none" || lease === null) {
          expect(bound.has(name), name).toBe(false);
          continue;
        }
        const isOver = snapshot.timestamp > Number(lease.expires) + 90 * 86_400;
        // Without a resolver in the .eth registry of ENSv2 nothing asks the one of the first generation.
        const entry = snapshot.registries[eth]?.entries.find((one) => one.raw === raw);
        const isAsked = authority === "reserved" && some(entry?.resolver) !== undefined;
        const isBound = isAsked && lease.resolver === PublicResolver && !isOver;
        expect(bound.has(name), name).toBe(isBound);
        ofV1 += Number(isBound);
      }
      expect(ofV1).toBeGreaterThan(0);
    });

    test("the resolver that mirrors the first generation names its registry", async () => {
      const { data } = await v1.get<{ mirror: object }>(`/v1/resolvers/${at(ENSV1Resolver)}`);
      expect(data.mirror).toEqual({
        kind: "ensv1_registry",
        registry: { chain_id: v2ChainId, address: ENSRegistry },
      });
      const records = await v1.get<{ records: object }>(
        `/v1/resolvers/${at(ENSV1Resolver)}/records?name=eth&keys=addr:60`,
      );
      expect(records.data.records).toEqual({
        "addr:60": {
          status: "unsupported",
          unsupported_reason: "indexed_record_inventory_not_authoritative",
        },
      });
    });

    test("roles of resolvers are those that their logs leave", async () => {
      let [seen, ofNames] = [0, 0];
      for (const [address] of resolvers()) {
        const { data, page, meta } = await v1.get<Record<string, string>[]>(
          `/v1/resolvers/${at(address)}/roles?page_size=200`,
        );
        if ((meta as Meta).completeness === "unsupported") {
          expect([data, page.total_count]).toEqual([[], null]);
          continue;
        }
        const left = new Map(
          logsOf(address, "EACRolesChanged").flatMap((args) =>
            "newRoleBitmap" in args
              ? [[`${args.account.toLowerCase()} ${args.resource}`, args] as const]
              : [],
          ),
        );
        const expected = [...left].filter(([, { newRoleBitmap }]) => newRoleBitmap !== 0n);
        const granted = data.map((one) => [`${one["address"]} ${one["eac_resource"]}`, one["grant_event"]]);
        expect(new Map(granted as [string, unknown][]), address).toEqual(
          new Map(expected.map(([key, { position }]) => [key, position])),
        );
        expect(page.total_count).toBe(expected.length);
        for (const { name, eac_resource, registration_id } of data) {
          expect(registration_id).toMatch(eac_resource === "0" ? /-root$/ : /^\d+-0x/);
          ofNames += Number(name !== undefined);
        }
        seen += data.length;
      }
      expect([seen > 5, ofNames > 0]).toEqual([true, true]);
    });

    test("links are those that the logs of resolvers with record ids leave", async () => {
      let [seen, without] = [0, 0];
      for (const [address] of resolvers()) {
        const links = `/v1/resolvers/${at(address)}/links`;
        const { data, page, meta } = await v1.get<Record<string, unknown>[]>(`${links}?page_size=200`);
        const { completeness, unsupported_reason } = meta as Meta;
        if (completeness === "unsupported") {
          expect([data, page.total_count]).toEqual([[], null]);
          // Others may say that they linked something.
          if (unsupported_reason === "record_links_not_applicable")
            expect(logsOf(address, "Linked")).toEqual([]);
          without += 1;
          continue;
        }
        const left = new Map(
          logsOf(address, "Linked").flatMap((args) =>
            "recordId" in args ? [[args.node, args] as const] : [],
          ),
        );
        const expected = [...left]
          .filter(([, { recordId }]) => recordId !== 0n)
          .sort(([a, one], [b, other]) => Number(one.recordId - other.recordId) || byText(a, b))
          .map(([node, { recordId, position }]) => ({
            record_id: String(recordId),
            namehash: node,
            default: BigInt(node) === 0n,
            link_event: position,
          }));
        expect(
          data.map(({ record_id, namehash, default: isDefault, link_event }) => ({
            ...{ record_id, namehash, default: isDefault, link_event },
          })),
        ).toEqual(expected);
        for (const { name, namehash: node } of data)
          expect(name === undefined ? `0x${"0".repeat(64)}` : namehash(String(name))).toBe(node);
        expect(page.total_count).toBe(expected.length);
        expect(completeness).toBeUndefined();
        if (expected.length > 1) expect(await v1.all(links, 1)).toEqual(data);
        seen += data.length;
      }
      expect(without).toBeGreaterThan(0);
      if (snapshot.block === 879) expect(seen).toBeGreaterThan(10);
    });

    test("records in a resolver are what calls return of the names that have it", async () => {
      const set = (value: Hex | null) => (value && !/^0x0*$/.test(value) ? value : undefined);
      let seen = 0;
      for (const [address, names] of resolvers())
        for (const { labels, answers } of names.slice(0, 5)) {
          const name = nameOf(labels);
          const asked = `/v1/resolvers/${at(address)}/records?name=${encodeURIComponent(name)}`;
          const { status, data } = await v1.get<{
            records: Record<string, { status: string; value?: string }>;
          }>(`${asked}&keys=addr:60,contenthash&include=inventory`);
          expect(status, name).toBe(200);
          const { "addr:60": addr, contenthash } = data.records;
          if (addr?.status === "unsupported" || answers.addr === null) continue;
          expect([addr?.value, contenthash?.value], name).toEqual([
            set(answers.addr),
            set(answers.contenthash),
          ]);
          seen += 1;
        }
      expect(seen).toBeGreaterThan(10);
    });
  },
);

test("a name's records in another resolver than its own; what is refused", async () => {
  const snapshot = readTruth().at(-1);
  await index.playTo(snapshot?.block ?? 0);
  await stored.store(index);
  const v1 = open(snapshot?.timestamp ?? 0);
  const refusalOf = async (path: string) => {
    const { status, error } = await v1.get(path);
    return [status, error.code, error.message];
  };
  const unknown = "0x00000000000000000000000000000000000000aa";
  const ofResolver = `/v1/resolvers/${at(PublicResolverV2)}/records`;
  const { data } = await v1.get<object>(`${ofResolver}?name=eth&keys=addr:60`);
  expect(data).toEqual({
    namespace: "ens",
    resolver: { chain_id: v2ChainId, address: PublicResolverV2 },
    records: { "addr:60": { status: "not_found" } },
  });
  expect(await refusalOf(`/v1/resolvers/${at(unknown)}`)).toEqual([
    404,
    "not_found",
    `resolver ${unknown} was not found on chain ${v2ChainId}`,
  ]);
  expect(await refusalOf(`/v1/registries/${at(unknown)}/labels`)).toEqual([
    404,
    "not_found",
    `registry ${unknown} was not found on chain ${v2ChainId}`,
  ]);
  expect((await refusalOf(`/v1/registries/${at(ENSRegistry)}`))[0]).toBe(404);
  expect((await refusalOf(`/v1/registries/${at(zeroAddress)}`))[0]).toBe(404);
  expect((await refusalOf(`/v1/resolvers/${v2ChainId}/0x12`))[0]).toBe(400);
  expect((await refusalOf(`/v1/resolvers/zero/${unknown}`))[0]).toBe(400);
  expect((await refusalOf(`/v1/resolvers/7/${unknown}`))[0]).toBe(400);
  expect(await refusalOf(`/v1/resolvers/${at(PublicResolver)}?include=counts`)).toEqual([
    400,
    "invalid_input",
    "unknown query parameter: include",
  ]);
  expect(await refusalOf(ofResolver)).toEqual([400, "invalid_input", "name is missing"]);
  expect(await refusalOf(`${ofResolver}?name=eth&source=auto`)).toEqual([
    400,
    "invalid_input",
    "source must be one of indexed",
  ]);
  expect(await refusalOf(`${ofResolver}?name=eth&namespace=basenames`)).toEqual([
    400,
    "invalid_input",
    `namespace must be ens for a resolver on chain ${v2ChainId}`,
  ]);
  expect(await refusalOf(`/v1/resolvers/${at(PublicResolver)}?at=1`)).toEqual([
    409,
    "stale",
    expect.stringMatching(/^The position cannot be read\. The index can be read as it was from \d+ /),
  ]);
});
