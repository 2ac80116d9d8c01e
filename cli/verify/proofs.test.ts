import {
  encodeAbiParameters,
  type Hex,
  keccak256,
  labelhash,
  namehash,
  numberToHex,
  parseAbiParameters,
  stringToHex,
} from "viem";
import { describe, expect, test } from "vitest";
import { parseEnvironment } from "../../src/config/environment.ts";
import { startServer } from "../../test/support/server.ts";
import { headerOf, type State, stateOf, trieOf } from "../../test/support/state-trie.ts";
import { prove } from "./proofs.ts";
import type { Question } from "./questions.ts";
import { proveValue, proveWords } from "./state-proofs.ts";

describe("a trie of values by the hashes of their keys", () => {
  const hexOf = (values: Record<string, string>) =>
    Object.entries(values).map(([key, value]) => [stringToHex(key), stringToHex(value)] as const);

  // ethereum/tests: TrieTests/trieanyorder_secureTrie.json.
  test.each([
    [{ A: "a".repeat(50) }, "0xe9e2935138352776cad724d31c9fa5266a5c593bb97726dd2a908fe6d53284df"],
    [
      { doe: "reindeer", dog: "puppy", dogglesworth: "cat" },
      "0xd4cd937e4a4368d7931a9cf51686b7e10abb3dce38a39000fd7902a092b64585",
    ],
    [
      { do: "verb", horse: "stallion", doge: "coin", dog: "puppy" },
      "0x29b235a58c3c25ab83010c327d5932bcf05324b7d6b1185e650798034783ca9d",
    ],
  ] as [Record<string, string>, Hex][])("proves what %o has, and what it has not", (values, root) => {
    const { nodes } = trieOf(hexOf(values));
    for (const [key, value] of hexOf(values)) expect(proveValue(root, key, nodes)).toBe(value);
    for (const absent of ["b", "dogs", "horses", ""])
      expect(proveValue(root, stringToHex(absent), nodes)).toBeUndefined();
  });

  test("is not proven by other nodes, by fewer, or by another root", () => {
    const [one, other] = [{ a: "1" }, { a: "2" }].map((values) =>
      trieOf(hexOf(values as Record<string, string>)),
    );
    const key = stringToHex("a");
    expect(() => proveValue(one?.root as Hex, key, other?.nodes ?? [])).toThrow();
    expect(() => proveValue(one?.root as Hex, key, [])).toThrow();
    expect(() => proveValue(keccak256("0x"), key, one?.nodes ?? [])).toThrow();
  });

  test('is empty if its root is keccak256(rlp(""))', () => {
    const empty = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421";
    expect(proveValue(empty, "0x00", [])).toBeUndefined();
  });
});

test("words that are zero, absent, or of no account are 0", () => {
  const { stateRoot, getProof } = stateOf(new Map([[owner, new Map([[1n, 0n]])]]));
  const slots = [1n, 2n];
  const keys = slots.map((slot) => numberToHex(slot, { size: 32 }));
  for (const address of [owner, resolver])
    expect(proveWords({ stateRoot, address, slots }, getProof(address, keys))).toEqual(
      new Map(slots.map((slot) => [slot, 0n])),
    );
});

// Contracts of mainnet, Base and Sepolia, and where they keep their values.
const registry = "0x00000000000c2e074ec69a0dfb2997ba6c7d2e1e";
const firstRegistry = "0x314159265dd8dbb310642f98f50c066173c1259b";
const registrar = "0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85";
const wrapper = "0xd4416b13d2b3a9abae7acd5d6c2bbdbe25686401";
const baseRegistry = "0xb94704422c2a1e396835a571837aa5ae53285a95";
const baseRegistrar = "0x03c4738ee98ae44591e1a4a4f3cab6641d95dd9a";
const ethRegistry = "0xd4ebcbbdf463c9c45784603db0ddd499bc44a8b4";
type Storage = Map<bigint, bigint>;
const owner: Hex = `0x${"11".repeat(20)}`;
const resolver: Hex = `0x${"22".repeat(20)}`;
const zero: Hex = `0x${"0".repeat(40)}`;

/** Solidity: the slot of a key in a mapping. */
const slotOf = (slot: number, key: Hex | bigint) =>
  BigInt(keccak256(encodeAbiParameters(parseAbiParameters("uint256, uint256"), [BigInt(key), BigInt(slot)])));
/** Values packed into a word, the first at its low end. */
const packed = (...values: [value: Hex | bigint, bits: number][]) =>
  values.reduceRight((word, [value, bits]) => (word << BigInt(bits)) | BigInt(value), 0n);
const record = (node: Hex, by: Hex, ttl = 0n): [bigint, bigint][] => [
  [slotOf(0, node), BigInt(by)],
  [slotOf(0, node) + 1n, packed([resolver, 160], [ttl, 64])],
];
const [node, label] = [namehash("name.eth"), BigInt(labelhash("name"))];
const storageId = (label >> 32n) << 32n;

const contracts: [Hex, [bigint, bigint][]][] = [
  [
    registry,
    [
      ...record(namehash("eth"), registrar),
      ...record(node, owner, 3600n),
      ...record(namehash("none.eth"), registry),
    ],
  ],
  [
    firstRegistry,
    [
      [BigInt(namehash("eth")) + 32n, BigInt(owner)],
      [BigInt(node), BigInt(resolver)],
      [BigInt(node) + 32n, BigInt(owner)],
      [BigInt(node) + 64n, 60n],
    ],
  ],
  // ethregistrar 2.0: `baseNode` is at 3.
  [
    registrar,
    [
      [3n, BigInt(namehash("eth"))],
      [slotOf(5, label), BigInt(owner)],
      [slotOf(9, label), 1_900_000_000n],
    ],
  ],
  [
    wrapper,
    [
      [slotOf(1, 0n), 1n],
      [slotOf(1, node), packed([owner, 160], [65_537n, 32], [1_907_776_000n, 64])],
    ],
  ],
];
const words = new Map(contracts.map(([address, storage]) => [address, new Map(storage)]));

type Change = { method: string; answer: (honest: never) => unknown };

/** A node of one block with a state, which changes its answers. Returns its URL and header. */
async function startNode(state: State, { number = 100, change }: { number?: number; change?: Change } = {}) {
  const { stateRoot, getProof } = stateOf(state);
  const header = headerOf(number, stateRoot);
  const child = headerOf(number + 1, stateRoot, header.hash);
  const answers: Record<string, (...params: never[]) => unknown> = {
    eth_getBlockByNumber: (asked: Hex) => (Number(asked) === number ? header : null),
    eth_getBlockByHash: (hash: Hex) => [header, child].find((one) => one.hash === hash) ?? null,
    eth_getProof: getProof,
  };
  const url = await startServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString());
    const honest = answers[method]?.(...(params as never[]));
    const result = change !== undefined && change.method === method ? change.answer(honest as never) : honest;
    const error = result instanceof Error && { code: -32000, message: result.message };
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...(error ? { error } : { result }) }));
  });
  return { url, header, child };
}

const rows = (ours: Partial<Record<string, string>> = {}): Question[] => {
  const about = (to: Hex, field: string, args: unknown[], value: string) =>
    ({ chainId: 1, to, field, args, row: "domain name.eth", ours: ours[field] ?? value }) as Question;
  return [
    about(registry, "owner", [node], owner),
    about(registry, "resolver", [node], resolver),
    about(registry, "ttl", [node], "3600"),
    about(registrar, "nameExpires", [label], "1900000000"),
    about(registrar, "ownerOf", [label], owner),
    about(wrapper, "getData", [BigInt(node)], `${owner}, 65537, 1907776000`),
  ];
};

async function proven(
  urls: readonly string[],
  questions: Question[],
  more: Record<string, string> = {},
  chainId = 1,
) {
  const config = parseEnvironment(
    {
      NAMESPACE: "mainnet",
      SUBGRAPH_COMPAT: "true",
      LABELS_URL: "file:x",
      [`RPC_URL_${chainId}`]: urls.join(),
      ...more,
    },
    () => "",
  );
  const heads = new Map([[chainId, { number: 100, timestamp: 9 }]]);
  const { said, ...found } = await prove(questions, { config, heads, progress: () => {} });
  return { ...found, said: [...said].join("\n") };
}

describe("an index", () => {
  test("is as the contracts' storage, by every layout", async () => {
    const { url } = await startNode(words);
    const first = [
      ["owner", owner],
      ["resolver", resolver],
      ["ttl", "60"],
    ].map(
      ([field, ours]) => ({ chainId: 1, to: firstRegistry, field, args: [node], row: "", ours }) as Question,
    );
    const found = await proven([url], [...rows(), ...first]);
    expect(found).toMatchObject({ compared: 9, differences: [], unproven: 0 });
    expect(found.said).toContain(`0 of 3 values differ: ENSv1RegistryOld ${firstRegistry}`);
    expect(found.said).toContain("on the word of one URL");
  });

  test("differs where its rows do", async () => {
    const { url } = await startNode(words);
    const { differences, compared } = await proven(
      [url],
      rows({ owner: zero, nameExpires: "1", getData: "x" }),
    );
    expect(compared).toBe(6);
    expect(differences.map(({ field, theirs }) => [field, theirs])).toEqual([
      ["owner", owner],
      ["nameExpires", "1900000000"],
      ["getData", `${owner}, 65537, 1907776000`],
    ]);
  });

  test("has no owner where the registry has none, by its own address or by no record", async () => {
    const { url } = await startNode(words);
    const none = ["none.eth", "never.eth"].map(
      (name) => ({ ...rows()[0], args: [namehash(name)], row: name, ours: owner }) as Question,
    );
    const { differences } = await proven([url], none);
    expect(differences.map(({ row, theirs }) => [row, theirs])).toEqual([
      ["none.eth", zero],
      ["never.eth", zero],
    ]);
  });

  test("is not compared with contracts whose storage is laid out otherwise", async () => {
    const { url } = await startNode(new Map([[registrar, new Map([[1n, 1n]])]]));
    const other = { ...rows()[0], to: owner, field: "addr" } as Question;
    const found = await proven([url], [other, ...rows()]);
    expect(found).toMatchObject({ compared: 0, differences: [], unproven: 0 });
    expect(found.said).toContain(`1 value not provable (unknown storage layout): contract ${owner}`);
    expect(found.said).toContain(
      `2 values not provable (unknown storage layout): BaseRegistrar ${registrar}`,
    );
  });
});

describe("a proof", () => {
  const lie = (answer: Change["answer"]) => startNode(words, { change: { method: "eth_getProof", answer } });
  type Proof = ReturnType<ReturnType<typeof stateOf>["getProof"]>;

  test("of another state is refused, whatever value the node names", async () => {
    const changed = stateOf(new Map<Hex, Storage>([...words, [registry, new Map(record(node, resolver))]]));
    const { url } = await lie((honest: Proof) =>
      changed.getProof(
        registry,
        honest.storageProof.map(({ key }) => key),
      ),
    );
    const found = await proven([url], rows());
    expect(found).toMatchObject({ compared: 0, differences: [], unproven: 6 });
    expect(found.said).toMatch(
      /no proof from RPC_URL_1 \(127.0.0.1:\d+\): its proof does not match the header/,
    );
  });

  test.each([
    ["nothing", () => ({})],
    ["no nodes of storage", (honest: Proof) => ({ ...honest, storageProof: [] })],
    ["text", () => "x"],
    ["malformed nodes", (honest: Proof) => ({ ...honest, accountProof: ["0xzz", 7, null] })],
  ] as [string, Change["answer"]][])("with %s is refused", async (_, answer) => {
    const { url } = await lie(answer);
    expect(await proven([url], rows())).toMatchObject({ compared: 0, differences: [], unproven: 6 });
  });

  test("of the next URL counts, and what the first one said is said", async () => {
    const pruned = await lie(() => new Error("distance to target block exceeds maximum proof window"));
    const { url } = await startNode(words);
    const found = await proven([pruned.url, url], rows());
    expect(found).toMatchObject({ compared: 6, differences: [], unproven: 0 });
    expect(found.said).toMatch(
      /RPC_URL_1 entry 1 \(.+\): distance to target block exceeds maximum proof window/,
    );
    expect(found.said).toContain("as 2 URLs say");
  });
});

describe("a header", () => {
  const other = new Map<Hex, Storage>([[registry, new Map(record(node, resolver))]]);

  test("that does not hash to its hash is refused", async () => {
    const change = {
      method: "eth_getBlockByNumber",
      answer: (header: object) => ({ ...header, stateRoot: node }),
    };
    const { url } = await startNode(words, { change });
    const found = await proven([url], rows());
    expect(found).toMatchObject({ compared: 0, unproven: 6 });
    expect(found.said).toContain("its header does not hash to its hash");
  });

  test.each([[{}], [null], ["x"], [7]])("is not %o", async (header) => {
    const { url } = await startNode(words, {
      change: { method: "eth_getBlockByNumber", answer: () => header ?? "" },
    });
    expect(await proven([url], rows())).toMatchObject({ compared: 0, unproven: 6 });
  });

  test("is believed of neither of two URLs that disagree on a block", async () => {
    const [one, two] = [await startNode(words), await startNode(other)];
    const found = await proven([one.url, two.url], rows());
    expect(found).toMatchObject({ compared: 0, unproven: 6 });
    expect(found.said).toContain(`the URLs disagree on block 100: ${one.header.hash}, ${two.header.hash}`);
  });

  test("is proven by the trusted block, which it is or which follows it, against all URLs", async () => {
    const [one, two] = [await startNode(words), await startNode(other)];
    for (const { number, hash } of [
      { number: 100, hash: one.header.hash },
      { number: 101, hash: one.child.hash },
    ]) {
      const trusted = { TRUSTED_BLOCK_1: `${number}:${hash}` };
      const found = await proven([two.url, one.url], rows(), trusted);
      expect(found).toMatchObject({ compared: 6, differences: [], unproven: 0 });
      expect(found.said).toContain(`block 100 is ${one.header.hash} by TRUSTED_BLOCK_1`);
      const refused = await proven([two.url], rows(), trusted);
      expect(refused).toMatchObject({ compared: 0, unproven: 6 });
    }
  });
});

test("names on Base and entries of ENSv2 have layouts of their own", async () => {
  const id = BigInt(labelhash("name"));
  // Solady's ERC721: keccak256 of the id's first 28 bytes and the seed's first four, and twice the id.
  const seeded = BigInt(keccak256(`0x${id.toString(16).padStart(64, "0").slice(0, 56)}7d882553`));
  const base = new Map<Hex, Storage>([
    [
      baseRegistry,
      new Map([...record(namehash("base.eth"), baseRegistrar), ...record(namehash("name.base.eth"), owner)]),
    ],
    [
      baseRegistrar,
      new Map([
        [slotOf(0, id), 1_900_000_000n],
        [BigInt.asUintN(256, seeded + 2n * id), packed([owner, 160], [7n, 96])],
      ]),
    ],
  ]);
  const node = await startNode(base);
  const about = (chainId: number, to: Hex, field: string, args: unknown[], ours: string) =>
    ({ chainId, to, field, args, row: "", ours }) as Question;
  const onBase = { SUBGRAPH_COMPAT: "false", PLUGINS: "subgraph,basenames", RPC_URL_1: node.url };
  const names = [
    about(8453, baseRegistry, "owner", [namehash("name.base.eth")], owner),
    about(8453, baseRegistrar, "nameExpires", [id], "1900000000"),
    about(8453, baseRegistrar, "ownerOf", [id], owner),
  ];
  expect(await proven([node.url], names, onBase, 8453)).toMatchObject({ compared: 3, differences: [] });

  const token = storageId | 3n;
  const tokenId: Hex = `0x${token.toString(16).padStart(64, "0")}`;
  const entry = slotOf(264, storageId);
  const v2 = new Map<Hex, Storage>([
    [
      ethRegistry,
      new Map([
        [slotOf(0, token), BigInt(owner)],
        [entry, packed([2n, 32], [3n, 32], [registrar, 160])],
        [entry + 1n, packed([1_900_000_000n, 64], [resolver, 160])],
      ]),
    ],
  ]);
  const sepolia = await startNode(v2);
  const values = { owner, tokenId, expiry: "1900000000", resolver, subregistry: registrar };
  const ofEntry = (args: bigint[]) =>
    Object.entries(values).map(([field, ours]) => about(11155111, ethRegistry, field, args, ours));
  const onSepolia = { NAMESPACE: "sepolia-v2", SUBGRAPH_COMPAT: "false", PLUGINS: "subgraph,ensv2" };
  const found = await proven([sepolia.url], ofEntry([storageId, token]), onSepolia, 11155111);
  expect(found).toMatchObject({ compared: 5, differences: [] });
  // An entry that the registry never had, beside one that it has.
  const never = await proven(
    [sepolia.url],
    [...ofEntry([storageId, token]), ...ofEntry([0n, 0n])],
    onSepolia,
    11155111,
  );
  expect(never.differences.map(({ theirs }) => theirs)).toEqual(Array(5).fill("absent"));
});
