import { encodeAbiParameters, type Hex, parseAbi } from "viem";
import { beforeEach, expect, test } from "vitest";
import { handlers } from "../../test/support/registry.ts";
import { multichainNaming } from "../indexing/naming.ts";
import type { Scope } from "../indexing/scope.ts";
import { registerHandlers } from "./on.ts";

const abi = parseAbi([
  "event Named(bytes32 indexed node, string name)",
  "event TextChanged(bytes32 indexed node, string indexed indexedKey, string key)",
  "event TextChanged(bytes32 indexed node, string indexed indexedKey, string key, string value)",
]);
const withValue = "TextChanged(bytes32 indexed node, string indexed indexedKey, string key, string value)";
const node: Hex = `0x${"01".repeat(32)}`;
const contract: Hex = `0x${"c0".repeat(20)}`;
const settings = {
  naming: multichainNaming,
  rootChainId: 1,
  nodes: async () => undefined,
  isConfigured: () => false,
  heal: () => undefined,
  report: () => {},
};

type Log = { address?: Hex; topics?: (Hex | null)[]; data?: Hex };

function play(name: string, args: Record<string, unknown>, log: Log = {}) {
  return handlers.get(name)?.({
    event: {
      id: "1",
      args,
      block: { number: 7n, timestamp: 9n },
      transaction: { hash: node, from: contract },
      log: { address: contract, logIndex: 3, topics: [node, node], data: "0x", ...log },
    },
    context: { db: "the store", chain: { id: 5 }, client: {} },
  });
}

beforeEach(() => handlers.clear());

test("a rule gets the event's scope and arguments", async () => {
  const seen: [Scope, unknown][] = [];
  registerHandlers(settings, () => true)("some/Source", abi)("Named", (scope, args) =>
    seen.push([scope, args]),
  );
  await play("some/Source:Named", { node, name: "alice.eth" });
  const [scope, args] = seen[0] ?? [];
  expect(scope).toMatchObject({ chainId: 5, blockNumber: 7, timestamp: 9n, logIndex: 3, emitter: contract });
  expect(args).toEqual({ node, name: "alice.eth" });
});

test("nothing is registered for an unconfigured source", () => {
  registerHandlers(settings, (source) => source === "other/Source")("some/Source", abi)("Named", () => {});
  expect([...handlers.keys()]).toEqual([]);
});

test("an event that the ABI lacks is rejected at once", () => {
  const on = registerHandlers(settings, () => true)("some/Source", abi);
  expect(() => on("Renamed" as "Named", () => {})).toThrow("The ABI has no event Renamed");
});

test.each<[string, (Hex | null)[], number]>([
  ["as declared", [node, node], 1],
  ["as declared, the missing ones null", [node, node, null, null], 1],
  ["one too few", [node], 0],
  ["one too many", [node, node, node], 0],
])("topics %s", async (_, topics, count) => {
  let calls = 0;
  registerHandlers(settings, () => true)("some/Source", abi)("Named", () => {
    calls += 1;
  });
  await play("some/Source:Named", { node, name: "x" }, { topics });
  expect(calls).toBe(count);
});

test("with an emitter only that contract's logs count, case-insensitively", async () => {
  const emitters: Hex[] = [];
  const on = registerHandlers(settings, () => true)("some/Source", abi, contract);
  on("Named", ({ emitter }) => emitters.push(emitter));
  await play("some/Source:Named", { node, name: "x" }, { address: `0x${"C0".repeat(20)}` });
  await play("some/Source:Named", { node, name: "x" }, { address: `0x${"c1".repeat(20)}` });
  expect(emitters).toEqual([contract]);
});

// viem's decoder drops a leading byte order mark; the contract emitted it.
test("strings are passed as emitted, each from its own position", async () => {
  const seen: unknown[] = [];
  registerHandlers(settings, () => true)("some/Source", abi)(withValue, (_, args) => seen.push(args));
  const data = encodeAbiParameters([{ type: "string" }, { type: "string" }], ["key", "\ufeffvalue"]);
  const args = { node, indexedKey: node, key: "key", value: "value" };
  await play(`some/Source:${withValue}`, args, { topics: [node, node, node], data });
  expect(seen).toEqual([{ ...args, value: "\ufeffvalue" }]);
  expect(args.value).toBe("value");
});
