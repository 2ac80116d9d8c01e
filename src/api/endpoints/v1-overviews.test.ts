import { decodeEventLog, type Hex, hexToBytes, parseAbi, toEventSelector } from "viem";
import { beforeAll, describe, expect, test } from "vitest";
import { v2Addresses, v2ChainId, v2Environment } from "../../../devnet/recorded-chains.ts";
import { readTruth, type Snapshot, type TrueEntry } from "../../../test/support/ensv2/recording.ts";
import { createStoredIndex } from "../../../test/support/ensv2/stored-index.ts";
import { openLookups } from "../../../test/support/lookups/lookups.ts";
import { createV2Index } from "../../../test/support/recorded-index.ts";
import { zeroAddress } from "../../ens/ids.ts";
import { keccak256 } from "../../ens/keccak.ts";
import { namehash } from "../../ens/names.ts";
import { isNormalizedLabel } from "../../ens/normalization.ts";
import type { Row } from "../names/rows.ts";

// What /v1 says of resolvers of ENSv2 against what calls returned, and what logs of the recorded chain tell.
const index = createV2Index();
const plugins = v2Environment.PLUGINS.split(",");
const stored = await createStoredIndex({ withEvents: true });
const open = (time: number) =>
  openLookups({ database: stored.database, datasources: index.config.datasources, plugins, time });
const {
  ENSRegistry = "0x",
  PublicResolver = "0x",
  PublicResolverV2 = "0x",
  ENSV1Resolver = "0x",
} = v2Addresses as Record<string, Hex>;

type Located = { chain_id: number; address: Hex };
type Names = { data: Row[]; page: { total_count: number | null; next_cursor: string | null } };
type Overview = {
  name: Row | null;
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
const _some = (address: Hex | null | undefined) =>
  address === zeroAddress ? undefined : (address ?? undefined);
const _isSet = (bitmap: Hex) => BigInt(bitmap) !== 0n;
const _isLive = ({ expiry }: TrueEntry, { timestamp }: Snapshot) => Number(expiry) > timestamp;
const byText = (a: string, b: string) => (a < b ? -1 : 1);

const abi = parseAbi([
  "event EACRolesChanged(uint256 indexed resource, address indexed account, uint256 oldRoleBitmap, uint256 newRoleBitmap)",
  "event Linked(uint256 indexed recordId, bytes32 indexed node, bytes name)",
]);

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
    const _registryOf = (address: string, query = "include=counts") =>
      v1.get<Overview>(`/v1/registries/${at(address)}?${query}`);
    const logsOf = (address: string, event: (typeof abi)[number]["name"]) =>
      index.logs
        .filter((log) => log.address === address && Number(log.blockNumber) <= snapshot.block)
        .filter(({ topics }) => topics[0] === toEventSelector(abi.find(({ name }) => name === event)!))
        .map(({ topics, data }) => decodeEventLog({ abi, topics: topics as [Hex, ...Hex[]], data }).args);

    const isProven = ([, one]: [string, Snapshot["registries"][Hex]]) =>
      one.contract && !one.hostile && one.parentClaim !== null;
    const registries = Object.entries(snapshot.registries);
    const _proven = registries.filter(isProven);

    const resolvers = () => {
      const own = snapshot.names.filter(({ resolver, exists }) => resolver?.offset === 0 && exists === 2);
      return [...Map.groupBy(own, ({ resolver }) => resolver?.address ?? zeroAddress)];
    };
    const boundTo = async (address: string) => {
      const names: Row[] = [];
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
        const isBound = lease.resolver === PublicResolver && !isOver;
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
              ? [[`${args.account.toLowerCase()} ${args.resource}`, args.newRoleBitmap]]
              : [],
          ),
        );
        const expected = [...left].filter(([, bitmap]) => bitmap !== 0n).map(([key]) => key);
        expect(data.map((one) => `${one["address"]} ${one["eac_resource"]}`).sort(), address).toEqual(
          expected.sort(),
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
            "recordId" in args ? [[args.node, args.recordId]] : [],
          ),
        );
        const expected = [...left]
          .filter(([, id]) => id !== 0n)
          .sort(([a, one], [b, other]) => Number(one - other) || byText(a, b))
          .map(([node, id]) => ({ record_id: String(id), namehash: node, default: BigInt(node) === 0n }));
        expect(
          data.map(({ record_id, namehash, default: isDefault }) => ({
            record_id,
            namehash,
            default: isDefault,
          })),
        ).toEqual(expected);
        for (const { name, namehash: node } of data)
          expect(name === undefined ? `0x${"0".repeat(64)}` : namehash(String(name))).toBe(node);
        expect(page.total_count).toBe(expected.length);
        expect(meta as Meta).toMatchObject({
          completeness: "partial",
          unsupported_fields: ["link_event"],
          unsupported_reason: "link_event_not_indexed",
        });
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
    "requested snapshot is not available for resolver",
  ]);
});
