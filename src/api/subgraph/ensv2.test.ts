import { type Hex, hexToBytes } from "viem";
import { beforeAll, describe, expect, test } from "vitest";
import { v2Addresses, v2ChainId } from "../../../devnet/recorded-chains.ts";
import { checkpointOf } from "../../../test/support/checkpoints.ts";
import { readTruth, type Snapshot } from "../../../test/support/ensv2/recording.ts";
import { createStoredIndex } from "../../../test/support/ensv2/stored-index.ts";
import { createV2Index } from "../../../test/support/recorded-index.ts";
import { bodyText } from "../../../test/support/subgraph/endpoint.ts";
import { zeroAddress } from "../../ens/ids.ts";
import { keccak256 } from "../../ens/keccak.ts";
import { isNormalizedLabel } from "../../ens/normalization.ts";
import { createChainBlocks } from "../../read/chain-blocks.ts";
import { findV2Contracts } from "../../read/names/v2-names.ts";
import { buildNamePath } from "../../read/names/v2-walk.ts";
import { domain } from "../../schema/subgraph.ts";
import { createSubgraph, type SubgraphOptions } from "./routes.ts";

// What domains have of ENSv2, against what calls returned of the recorded chain.

type Domain = {
  id: Hex;
  name: string;
  labelName: string;
  labelhash: Hex;
  parent: { id: Hex } | null;
  owner: { id: Hex };
  resolver: { address: Hex } | null;
  expiryDate: string | null;
  registration: { expiryDate: string; registrant: { id: Hex } } | null;
  version: "v1" | "v2" | null;
  reserved: boolean;
  migratedAt: string | null;
  registry: Hex | null;
  registryPath: Hex[] | null;
  effectiveOwner: Hex | null;
  effectiveResolver: Hex | null;
  effectiveExpiryDate: string | null;
  graceEndDate: string | null;
};
const stated =
  "id name labelName labelhash parent { id } owner { id } resolver { address } expiryDate registration { expiryDate registrant { id } }";
const walked =
  "version reserved migratedAt registry registryPath effectiveOwner effectiveResolver effectiveExpiryDate graceEndDate";

const fields = `${stated} ${walked}`;

const index = createV2Index();
const stored = await createStoredIndex();

const contracts = findV2Contracts(index.config.datasources);
const { RootRegistry = "0x", ETHRegistry = "0x" } = v2Addresses as Record<string, Hex>;

type Options = Pick<SubgraphOptions, "v2"> & { isCounted?: boolean; seen?: string[] };

/** Asks a subgraph over the stored rows; `seen` gets the statements. */
function open({ v2, isCounted = false, seen = [] }: Options = { v2: contracts }) {
  const { row } = stored.database;
  const database: typeof stored.database = {
    ...stored.database,
    row: (...given) => {
      seen.push(given[0]);
      return row(...given);
    },
  };
  const blocks = createChainBlocks(async () => undefined, { log: () => undefined });
  const given = { chainId: v2ChainId, deployment: "test", blocks };
  const subgraph = createSubgraph({ ...given, database, v2 });
  return async (query: string, variables = {}) => {
    const extensions = { counts: isCounted, truncated: isCounted };
    const request = { query, variables, operationName: undefined, extensions };
    const { body } = await subgraph.answer(request, AbortSignal.timeout(60_000));
    return JSON.parse(bodyText(body));
  };
}

async function moveTo({ block, timestamp }: Snapshot) {
  await index.playTo(block);
  await stored.store(index);
  const checkpoint = checkpointOf({ number: block, timestamp }, v2ChainId);
  await stored.client.exec("DELETE FROM _ponder_checkpoint");
  await stored.client.query("INSERT INTO _ponder_checkpoint VALUES ('v2-a', $1, $2, $2, $2)", [
    v2ChainId,
    checkpoint,
  ]);
}

async function everyDomain(): Promise<Map<Hex, Domain>> {
  const ask = open();
  const found = new Map<Hex, Domain>();
  for (let last = ""; ; ) {
    const { data, errors } = await ask(
      `query($last: ID!) { domains(first: 200, where: { id_gt: $last }) { ${fields} } }`,
      { last },
    );
    expect(errors).toBeUndefined();
    for (const domain of data.domains as Domain[]) found.set(domain.id, domain);
    if (data.domains.length < 200) return found;
    last = data.domains.at(-1).id;
  }
}

const nodeOf = (labels: readonly Hex[]) =>
  buildNamePath(labels.map((raw) => keccak256(hexToBytes(raw)))).nodes.at(-1) ?? "0x";
const textOf = (bytes: Hex) => Buffer.from(bytes.slice(2), "hex").toString("utf8");
const unlessZero = (address: Hex | null | undefined) => (address === zeroAddress ? null : (address ?? null));

// What a name is in the second generation, where its registries prove it: by calls to them.
function trueEntry(snapshot: Snapshot, labels: readonly Hex[], registryOf: Map<Hex, Hex | null>) {
  // The Universal Resolver has no registry of top-level names.
  const way = labels.slice(0, -1).map((_, index) => registryOf.get(nodeOf(labels.slice(index))) ?? null);
  const [registry = null] = way;
  const isProven = way.every((one) => one !== null && !snapshot.registries[one]?.hostile);
  const entry = registry && snapshot.registries[registry]?.entries.find(({ raw }) => raw === labels[0]);
  return isProven && entry ? entry : undefined;
}

// All blocks: src/read/names/v2-names.test.ts.
const snapshots = readTruth().filter(({ block }) => [350, 879].includes(block));

describe.each(snapshots)("at block $block", (snapshot) => {
  let domains: Map<Hex, Domain>;
  let ofV1: Set<unknown>;
  beforeAll(async () => {
    await moveTo(snapshot);
    domains = await everyDomain();
    ofV1 = new Set(index.store.rows(domain).map(({ id }) => id));
  });

  test("version, expiry and resolver of each name under .eth are those in force", () => {
    const entries = new Map(
      (snapshot.registries[ETHRegistry]?.entries ?? []).map((entry) => [entry.raw, entry]),
    );
    let seen = 0;
    for (const { raw, label, authority, v1 } of snapshot.authority) {
      const domain = domains.get(nodeOf([raw, "0x657468"]));
      if (domain === undefined) {
        // Not even an entry that has expired.
        expect([v1, entries.has(raw)], label).toEqual([null, false]);
        continue;
      }
      seen += 1;
      const entry = entries.get(raw);
      const version = authority === "v2" ? "v2" : authority === "none" ? null : "v1";
      expect(domain, label).toMatchObject({ version, reserved: authority === "reserved" });
      if (version === "v2")
        expect(domain, label).toMatchObject({
          effectiveOwner: entry?.owner,
          effectiveExpiryDate: entry?.expiry,
          graceEndDate: String(BigInt(entry?.expiry ?? 0) + 28n * 86_400n),
          registryPath: [RootRegistry, ETHRegistry],
        });
      if (version === "v1" && v1 !== null && !v1.graveyard)
        expect(domain, label).toMatchObject({
          effectiveExpiryDate: v1.expires,
          effectiveResolver: unlessZero(v1.resolver),
          graceEndDate: String(BigInt(v1.expires) + 90n * 86_400n),
        });
      // The holder of the token of an unwrapped name; the name wrapper holds those of wrapped ones.
      if (version === "v1" && v1?.holder && v1.holder !== v2Addresses["NameWrapper"])
        expect(domain.effectiveOwner, label).toBe(v1.holder);
      if (version === null)
        expect([domain.effectiveOwner, domain.effectiveResolver], label).toEqual([null, null]);
    }
    expect(seen).toBeGreaterThan(10);
  });

  test("owner, resolver and registry of each name in the second generation are those of the chain", () => {
    const hostile = new Set(
      Object.entries(snapshot.registries).flatMap(([address, one]) => (one.hostile ? [address] : [])),
    );
    for (const { name, labels, registry, owner, resolver } of snapshot.names) {
      const domain = domains.get(nodeOf(labels));
      // The Universal Resolver has no registry of top-level names.
      if (labels.length < 2) continue;
      if (domain?.version !== "v2" || (registry !== null && hostile.has(registry))) continue;
      expect(domain, name).toMatchObject({
        registry,
        effectiveOwner: unlessZero(owner),
        effectiveResolver: unlessZero(resolver?.address),
      });
      expect(domain.registryPath?.at(-1) ?? null, name).toBe(registry);
    }
  });

  test("each that is registered is a domain with the owner, resolver and expiry that calls return", () => {
    const registryOf = new Map(snapshot.names.map((one) => [nodeOf(one.labels), one.registry]));
    const missing: string[] = [];
    let seen = 0;
    for (const { name, labels, exists } of snapshot.names) {
      const entry = trueEntry(snapshot, labels, registryOf);
      const id = nodeOf(labels);
      const found = domains.get(id);
      if (labels.length < 2 || entry === undefined) continue;
      if (found === undefined) {
        missing.push(`${name} ${exists}`);
        continue;
      }
      if (entry.status !== 2 && ofV1.has(id)) continue;
      seen += 1;
      const part = isNormalizedLabel(textOf(entry.raw))
        ? textOf(entry.raw)
        : `[${keccak256(hexToBytes(entry.raw)).slice(2)}]`;
      expect(found, name).toMatchObject({
        labelName: part,
        labelhash: keccak256(hexToBytes(entry.raw)),
        parent: { id: nodeOf(labels.slice(1)) },
        owner: { id: entry.latestOwner },
        expiryDate: entry.expiry,
      });
      expect(found.name.startsWith(`${part}.`), name).toBe(true);
      if (entry.status !== 0) expect(found.resolver?.address ?? zeroAddress, name).toBe(entry.resolver);
      if (labels.length === 2 && labels[1] === "0x657468" && entry.status === 2)
        expect(found.registration, name).toMatchObject({
          expiryDate: entry.expiry,
          registrant: { id: entry.owner },
        });
    }
    expect(missing).toEqual([]);
    expect(seen).toBeGreaterThan(10);
  });

  test("what the registries have no more is a domain only if nothing but its own expiry has passed", () => {
    const reached = new Set(snapshot.names.map(({ labels }) => nodeOf(labels)));
    const others = [...domains.values()].filter(({ id }) => !reached.has(id) && !ofV1.has(id));
    const isHistory = ({ name, expiryDate, parent }: Domain) =>
      Number(expiryDate) <= snapshot.timestamp &&
      (name.split(".").length === 2 || (parent !== null && reached.has(parent.id)));
    expect(others.filter((one) => !isHistory(one)).map(({ name }) => name)).toEqual([]);
  });
});

describe("at the last block", () => {
  const ofName = async (name: string) => {
    const { data } = await open()(`{ domains(where: { name: "${name}" }) { ${fields} } }`);
    return data.domains[0] as Domain;
  };

  // Lists against all domains at once, sorted and filtered here.
  describe("lists of both generations", () => {
    let all: Domain[];
    beforeAll(async () => {
      all = [...(await everyDomain()).values()];
    });
    const idsOf = (found: readonly Domain[]) => found.map(({ id }) => id);
    const list = async (given: string) => {
      const { data, errors } = await open()(`{ domains(${given}) { id } }`);
      expect(errors, given).toBeUndefined();
      return idsOf(data.domains);
    };
    const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
    // Ties are broken by id in the same direction.
    const sorted = (key: (one: Domain) => string | bigint | null, direction: 1 | -1) =>
      all
        .filter((one) => key(one) !== null)
        .sort((a, b) => {
          const [x, y] = [key(a) ?? 0n, key(b) ?? 0n];
          return direction * (x < y ? -1 : x > y ? 1 : byText(a.id, b.id));
        });
    const expiryOf = ({ expiryDate }: Domain) => (expiryDate === null ? null : BigInt(expiryDate));

    test("orders by name and expiry, in pages", async () => {
      const byName = idsOf(sorted(({ name }) => name, 1));
      expect(await list("first: 60, orderBy: name")).toEqual(byName.slice(0, 60));
      expect(await list("first: 60, skip: 300, orderBy: name")).toEqual(byName.slice(300, 360));
      const byExpiry = idsOf(sorted(expiryOf, 1));
      expect(await list("first: 60, skip: 40, orderBy: expiryDate, where: { expiryDate_not: null }")).toEqual(
        byExpiry.slice(40, 100),
      );
      const latest = idsOf(sorted(expiryOf, -1));
      expect(
        await list("first: 50, orderBy: expiryDate, orderDirection: desc, where: { expiryDate_not: null }"),
      ).toEqual(latest.slice(0, 50));
    });

    test("filters by owner, registrant, name, parent, resolver and expiry, alone and joined by or", async () => {
      const owners = Map.groupBy(all, ({ owner }) => owner.id);
      const [owner = "0x", max = []] =
        [...owners].filter(([id]) => id !== zeroAddress).sort((a, b) => b[1].length - a[1].length)[0] ?? [];
      expect(max.length).toBeGreaterThan(20);
      expect(await list(`first: 1000, where: { owner: "${owner}" }`)).toEqual(idsOf(max).sort(byText));
      const either = await list(
        `first: 1000, where: { or: [{ owner: "${owner}" }, { resolvedAddress: "${owner}" }] }`,
      );
      expect(either).toEqual(expect.arrayContaining(idsOf(max)));
      const deep = max.find(({ name, version }) => name.split(".").length > 2 && version === "v2");
      expect(await list(`where: { name: "${deep?.name}" }`)).toEqual([deep?.id]);
      expect(await list(`where: { id: "${deep?.id}", expiryDate_gt: "${deep?.expiryDate}" }`)).toEqual([]);
      const parent = deep?.parent?.id;
      const children = idsOf(all.filter((one) => one.parent?.id === parent)).sort(byText);
      expect(await list(`first: 1000, where: { parent: "${parent}" }`)).toEqual(children);
      expect(await list(`first: 1000, where: { parent_: { id: "${parent}" } }`)).toEqual(children);
    });

    test("finds them through relations, one by one, and counts them", async () => {
      const eth = nodeOf(["0x657468"]);
      const found = all.find(
        ({ name, registration }) => name.endsWith(".eth") && registration?.registrant.id !== undefined,
      );
      const owned = all.filter(({ owner }) => owner.id === found?.owner.id);
      await stored.client.query(
        "INSERT INTO account SELECT DISTINCT owner_id, 0 FROM v2_domains ON CONFLICT DO NOTHING",
      );
      const { data, errors, extensions } = await open({ v2: contracts, isCounted: true })(
        `{ domain(id: "${found?.id}") { name parent { name } registration { domain { id } } }
          account(id: "${found?.owner.id}") { domains(first: 1000) { id } }
          domains(first: 1, where: { parent: "${eth}" }) { id }
          registrations(first: 5, orderBy: registrationDate, orderDirection: desc) { domain { id name } } }`,
      );
      expect(errors).toBeUndefined();
      expect(data.domain).toEqual({
        name: found?.name,
        parent: { name: expect.any(String) },
        registration: { domain: { id: found?.id } },
      });
      expect(idsOf(data.account.domains)).toEqual(idsOf(owned).sort(byText));
      expect(extensions.counts.domains).toBe(all.filter(({ parent }) => parent?.id === eth).length);
      expect(extensions.truncated.domains).toBe(true);
      expect(data.registrations.every((one: { domain: Domain }) => one.domain.name.endsWith(".eth"))).toBe(
        true,
      );
    });

    test("sorts by a relation", async () => {
      const { data, errors } = await open()(
        "{ domains(first: 40, orderBy: parent__name, orderDirection: desc) { parent { name } } }",
      );
      expect(errors).toBeUndefined();
      const nameOf = new Map(all.map(({ id, name }) => [id, name]));
      const parents = all.flatMap(({ parent }) => (parent ? (nameOf.get(parent.id) ?? []) : []));
      const names = data.domains.flatMap(
        (one: { parent: { name: string } | null }) => one.parent?.name ?? [],
      );
      expect(names).toEqual(parents.sort(byText).reverse().slice(0, names.length));
    });
  });

  test("a name that was migrated says when", async () => {
    const { migratedAt, version } = await ofName("migrateme.eth");
    expect(version).toBe("v2");
    // LabelRegistered over the reservation, sent by the migration controller.
    const times = new Set(readTruth().map(({ timestamp }) => timestamp));
    expect(Number(migratedAt)).toBeGreaterThan(Math.min(...times));
    expect(Number(migratedAt)).toBeLessThan(Math.max(...times));
  });

  test("an emancipated name that stays behind is the first generation's", async () => {
    expect(await ofName("vault.wrapfrozen.eth")).toMatchObject({ version: "v1" });
    expect(await ofName("wrapfrozen.eth")).toMatchObject({ version: "v2" });
  });

  test("what the Graveyard took permanently is in force nowhere, and has no expiry", async () => {
    expect(await ofName("lapsed.eth")).toMatchObject({
      version: null,
      effectiveOwner: null,
      effectiveExpiryDate: null,
    });
  });

  test("the fields are found through relations, aliases and fragments, in one statement", async () => {
    const query = `
      query { eth: domain(id: "${nodeOf(["0x657468"])}") { version subdomains(first: 3, where: { name: "migrateme.eth" }) { ...F } }
        registrations(first: 2) { domain { version reserved } } _meta { block { number } } }
      fragment F on Domain { name v: version parent { version registry } wrappedDomain { domain { version } } }`;
    const seen: string[] = [];
    const { data, errors } = await open({ v2: contracts, seen })(query);
    expect(errors).toBeUndefined();
    expect(data.eth).toMatchObject({
      version: "v2",
      subdomains: [{ name: "migrateme.eth", v: "v2", parent: { version: "v2", registry: RootRegistry } }],
    });
    expect(data.registrations).toHaveLength(2);
    expect(seen).toHaveLength(1);
  });

  test("a hundred names by id are read by one walk", async () => {
    const known = [...(await everyDomain()).values()].slice(0, 99);
    const ids = [...known.map(({ id }) => id), `0x${"12".repeat(32)}`];
    const seen: string[] = [];
    const { data, errors } = await open({ v2: contracts, seen })(
      `{ ${ids.map((id, i) => `a${i}: domain(id: "${id}") { id version parent { id version } }`).join(" ")} }`,
    );
    expect(errors).toBeUndefined();
    const expected = known.map(({ id, version }) => expect.objectContaining({ id, version }));
    expect(ids.map((_, i) => data[`a${i}`])).toEqual([...expected, null]);
    // That of the names, and that of their parents.
    expect(seen.map((sql) => sql.split("WITH RECURSIVE asked").length - 1)).toEqual([2]);
  });

  test("they are neither filters nor orders", async () => {
    const ask = open();
    const { errors } = await ask('{ domains(where: { version: "v2" }) { id } }');
    expect(errors[0].message).toContain("has no field `version`");
    expect((await ask("{ domains(orderBy: version) { id } }")).errors).toHaveLength(1);
  });

  test("a row that is read from ENSv2 costs as much as ten", async () => {
    const { errors } = await open()(
      "{ domains(first: 1000) { version subdomains(first: 1000) { version } } }",
    );
    expect(errors[0].message).toContain("entities");
  });

  test("without the plugin there are no such fields, in queries and in the schema", async () => {
    const without = open({ v2: undefined });
    const { errors } = await without("{ domains { id version } }");
    expect(errors[0].message).toBe("Type `Domain` has no field `version`");
    const introspection = '{ __type(name: "Domain") { fields { name } } }';
    const names = (body: { data: { __type: { fields: { name: string }[] } } }) =>
      body.data.__type.fields.map(({ name }) => name);
    expect(names(await without(introspection))).not.toContain("version");
    expect(names(await open()(introspection))).toEqual(expect.arrayContaining(walked.split(" ")));
  });
});
