import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  decodeFunctionData,
  encodeAbiParameters,
  type Hex,
  namehash,
  parseAbi,
  parseAbiParameters,
} from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseEnvironment } from "../src/config/environment.ts";
import { createTestDatabase, type TestDatabase } from "../test/support/database.ts";
import { readQuestions } from "./verify/questions.ts";
import { compare, report } from "./verify.ts";

const owner: Hex = `0x${"11".repeat(20)}`;
const zero: Hex = `0x${"0".repeat(40)}`;
const now = 1_700_000_000;
const getData = parseAbi([
  "function getData(uint256 id) view returns (address owner, uint32 fuses, uint64 expiry)",
]);

// The rule of NameWrapper.getData (ens-contracts, _clearOwnerAndFuses): once the expiry is past no fuses, and no owner
// if PARENT_CANNOT_CONTROL (65536) is burned.
const stored = new Map<Hex, { fuses: number; expiry: number }>([
  [namehash("living.eth"), { fuses: 65_537, expiry: now + 1 }],
  [namehash("lapsed.eth"), { fuses: 65_537, expiry: now - 1 }],
  [namehash("parent.eth"), { fuses: 0, expiry: now - 1 }],
]);
const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { params } = JSON.parse(Buffer.concat(chunks).toString()) as { params: [{ data: Hex }] };
  const { args } = decodeFunctionData({ abi: getData, data: params[0].data });
  const { fuses = 0, expiry = 0 } = stored.get(`0x${args[0].toString(16).padStart(64, "0")}`) ?? {};
  const isPast = expiry < now;
  const shown = isPast && (fuses & 65_536) !== 0 ? zero : owner;
  const result = encodeAbiParameters(parseAbiParameters("address, uint32, uint64"), [
    shown,
    isPast ? 0 : fuses,
    BigInt(expiry),
  ]);
  response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result }));
});
let database: TestDatabase;
let url: string;
beforeAll(async () => {
  database = await createTestDatabase("indexes");
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const [node, { fuses, expiry }] of stored)
    await database.query(
      "INSERT INTO wrapped_domain (id, domain_id, expiry_date, fuses, owner_id, change_block) VALUES ($1, $1, $2, $3, $4, 7)",
      [node, expiry, fuses, owner],
    );
});
afterAll(async () => {
  server.close();
  await database.close();
});

const config = () =>
  parseEnvironment(
    { NAMESPACE: "ens-test-env", SUBGRAPH_COMPAT: "true", LABELS_URL: "file:x", RPC_URL_15658733: url },
    () => "",
  );
const wrapped = async (asked: { samples?: number; names?: string[]; seed?: number }) => {
  const run = (text: string, values?: unknown[]) => database.query<Record<string, unknown>>(text, values);
  const all = await readQuestions(run, config(), { samples: 10, seed: 1, names: [], ...asked });
  return all.filter(({ field }) => field === "getData");
};
const heads = new Map([[15658733, { number: 9, timestamp: now }]]);
const compared = async (questions: Awaited<ReturnType<typeof wrapped>>) =>
  compare(questions, { config: config(), heads, progress: () => {} });

describe("name wrappers", () => {
  test("hide owner and fuses of lapsed names, which is no difference", async () => {
    expect(await compared(await wrapped({}))).toMatchObject({ compared: 3, unanswered: 0, differences: [] });
  });

  test("show other differences, lapsed or not", async () => {
    await database.query(`UPDATE wrapped_domain SET fuses = 1 WHERE id = '${namehash("living.eth")}'`);
    await database.query(
      `UPDATE wrapped_domain SET expiry_date = expiry_date - 1 WHERE id = '${namehash("lapsed.eth")}'`,
    );
    const { differences } = await compared(await wrapped({}));
    expect(differences.map(({ ours, theirs }) => [ours, theirs]).sort()).toEqual([
      [`${owner}, 1, ${now + 1}`, `${owner}, 65537, ${now + 1}`],
      [`${owner}, 65537, ${now - 2}`, `${zero}, 0, ${now - 1}`],
    ]);
  });
});

test("a seed repeats a choice; names are always compared, once", async () => {
  const ids = async (asked: Parameters<typeof wrapped>[0]) =>
    (await wrapped(asked)).map(({ args }) => args[0]);
  expect(await ids({ samples: 1, seed: 5 })).toEqual(await ids({ samples: 1, seed: 5 }));
  expect(await ids({ samples: 0, names: ["lapsed.eth"] })).toEqual([BigInt(namehash("lapsed.eth"))]);
  expect(await ids({ samples: 10, names: ["lapsed.eth"] })).toHaveLength(3);
});

test("with several chains, the registry that named a node last is asked, and none where several did", async () => {
  const environment = {
    NAMESPACE: "ens-test-env",
    PLUGINS: "subgraph,lineanames",
    DATASOURCES_FILE: "x",
    LABELS_URL: "file:x",
    RPC_URL_15658733: url,
    RPC_URL_15658734: url,
  };
  const registry = { address: `0x${"22".repeat(20)}` };
  const wrapper = { address: `0x${"33".repeat(20)}` };
  const contracts = { Registry: registry, NameWrapper: wrapper };
  const file = { "ens-test-env": { lineanames: { 15658734: { contracts } } } };
  const config = parseEnvironment(environment, () => JSON.stringify(file));
  const [old, late, both] = ["old.eth", "late.linea.eth", "both.eth"].map((name) => namehash(name));
  for (const [node, isMigrated] of [
    [old, false],
    [late, true],
    [both, true],
  ])
    await database.query(
      `INSERT INTO domain (id, subdomain_count, is_migrated, created_at, owner_id, change_block) VALUES ($1, 0, $2, 0, '${owner}', 7)`,
      [node, isMigrated],
    );
  const events = [
    [old, "15658733-5-1"],
    [late, "15658734-5-1"],
    [both, "15658733-6-1"],
    [both, "15658734-6-1"],
  ];
  for (const [node, id] of events)
    await database.query(
      "INSERT INTO domain_event (id, type, block_number, transaction_id, domain_id) VALUES ($1, 'NewOwner', 5, sha256('1'), $2)",
      [id, node],
    );
  const run = (text: string, values?: unknown[]) => database.query<Record<string, unknown>>(text, values);
  const questions = await readQuestions(run, config, { samples: 10, seed: 1, names: [] });
  const owners = questions.filter(({ field }) => field === "owner");
  const { ENSv1RegistryOld } = config.datasources["ensroot"]?.contracts ?? {};
  expect(new Map(owners.map(({ args, chainId, to }) => [args[0], `${chainId} ${to}`]))).toEqual(
    new Map([
      [old, `15658733 ${ENSv1RegistryOld?.address}`],
      [late, `15658734 ${registry.address}`],
    ]),
  );
  // A wrapper holds the names of its chain; those here without a row of their own are the root chain's.
  await database.query("UPDATE domain SET chain_id = 15658734 WHERE id = $1", [late]);
  await database.query(
    "INSERT INTO wrapped_domain (id, domain_id, expiry_date, fuses, owner_id, change_block) VALUES ($1, $1, 0, 0, $2, 7)",
    [late, owner],
  );
  const { rows: names } = await database.query<{ id: Hex }>("SELECT id FROM wrapped_domain");
  const asked = await readQuestions(run, config, { samples: 10, seed: 1, names: [] });
  const wrappers = asked.filter(({ field }) => field === "getData");
  const root = config.datasources["ensroot"]?.contracts["NameWrapper"]?.address;
  expect(new Map(wrappers.map(({ args, to }) => [args[0], to]))).toEqual(
    new Map(names.map(({ id }) => [BigInt(id), id === late ? wrapper.address : root])),
  );
  await database.query("DELETE FROM wrapped_domain WHERE id = $1", [late]);
  // Only the root chain's registry links names to resolvers.
  expect(questions.filter(({ field }) => field === "resolver").map(({ args }) => args[0])).toEqual([old]);
});

test("entries of the root and .eth registries of ENSv2 are compared with proofs alone", async () => {
  const environment = { NAMESPACE: "sepolia-v2", PLUGINS: "subgraph,ensv2", LABELS_URL: "file:x" };
  const config = parseEnvironment({ ...environment, RPC_URL_11155111: url }, () => "");
  const ethRegistry = "0xd4ebcbbdf463c9c45784603db0ddd499bc44a8b4";
  const [storageId, tokenId] = ["00000000", "00000001"].map((version) => `0x${"ab".repeat(28)}${version}`);
  for (const registry of [ethRegistry, owner])
    await database.query(
      `INSERT INTO v2_entries (chain_id, registry, storage_id, labelhash, label, node, token_id, resource, owner, expiry, resolver, subregistry, created_at)
        VALUES (11155111, $1, $2, $2, '0x6f6e65', $3, $4, $4, $5, 9, $6, $6, 1)`,
      [registry, storageId, namehash("one.eth"), tokenId, owner, zero],
    );
  const run = (text: string, values?: unknown[]) => database.query<Record<string, unknown>>(text, values);
  const entries = async (asked: { samples?: number; names?: string[]; proofs?: boolean }) => {
    const all = await readQuestions(run, config, { samples: 10, seed: 1, names: [], ...asked });
    return all.filter(({ row }) => row === "entry one");
  };
  const values = { owner, tokenId, expiry: "9", resolver: zero, subregistry: zero };
  expect((await entries({ proofs: true })).map(({ field, ours }) => [field, ours])).toEqual(
    Object.entries(values),
  );
  for (const { chainId, to, args } of await entries({ samples: 0, names: ["one.eth"], proofs: true }))
    expect([chainId, to, args]).toEqual([11155111, ethRegistry, [storageId, tokenId]]);
  expect(await entries({ samples: 0, names: ["one.eth"], proofs: true })).toHaveLength(5);
  expect(await entries({})).toEqual([]);
});

describe("the report", () => {
  const missing = { looked: 50, missing: [] as string[] };
  const found = { compared: 100, unanswered: 0, reverted: 0, differences: [] };
  const asked = async (given: Partial<{ found: object; missing: object }>) => {
    const [question] = await wrapped({});
    const questions = Array.from({ length: 100 }, () => question as NonNullable<typeof question>);
    const all = { found: { ...found, ...given.found }, events: { ...missing, ...given.missing } };
    return report(questions, { heads, ...all });
  };

  test("calls a node that executes nothing by its name, not the index wrong", async () => {
    const [question] = await wrapped({});
    const differences = Array.from({ length: 95 }, () => ({ ...question, theirs: "reverted" }));
    const { text, isSound } = await asked({ found: { reverted: 95, differences } });
    expect(text).toMatch(
      /^95 of 100 calls reverted: this node executes no calls, or lacks the state of these blocks\./,
    );
    expect(text).toContain("Compared 0 of 100 values");
    expect(text).not.toMatch(/differ|reverted on|wrong/);
    expect(isSound).toBe(false);
  });

  test("lists rows that are missing, whether values differ or not", async () => {
    const { text, isSound } = await asked({ missing: { missing: ["domain: no row of \u001b[2J"] } });
    expect(text).toContain("domain: no row of \\u001b[2J");
    expect(text).toContain("1 row of 50 events missing. See ");
    expect(isSound).toBe(false);
    expect((await asked({})).text).toMatch(
      /looked up 50 events of the RPC cache\.\n0 of 100 wrong: at most 2\.95 %/,
    );
  });
});
