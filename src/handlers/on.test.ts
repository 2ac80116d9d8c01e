import { encodeAbiParameters, type Hex, parseAbi } from "viem";
import { expect, test } from "vitest";
import { type EventOrigin, openHandlers } from "../../test/support/handlers.ts";
import type { Scope } from "../indexing/scope.ts";
import type { EventsOf } from "./on.ts";

const abi = parseAbi([
  "event Named(bytes32 indexed node, string name)",
  "event TextChanged(bytes32 indexed node, string indexed indexedKey, string key)",
  "event TextChanged(bytes32 indexed node, string indexed indexedKey, string key, string value)",
]);
const withValue = "TextChanged(bytes32 indexed node, string indexed indexedKey, string key, string value)";
const node: Hex = `0x${"01".repeat(32)}`;
const contract: Hex = `0x${"c0".repeat(20)}`;
const place = { chainId: 5, block: 7, timestamp: 9, logIndex: 3, transactionHash: node, sender: contract };
const log = { emitter: contract, data: "0x", topics: [node, node] } as const;

/** What `register` registers, and `play`, which feeds it an event. */
function open(register: (events: EventsOf) => void, isSource?: (source: string) => boolean) {
  const { call, handlers } = openHandlers({ register, ...(isSource && { isSource }) });
  const play = (name: string, args: object, more: Partial<EventOrigin> = {}) =>
    call(`some/Source:${name}`, args, { ...place, ...log, ...more });
  return { play, handlers };
}

test("a handler gets the event's scope and arguments", async () => {
  const seen: [Scope, unknown][] = [];
  const { play } = open((events) => events("some/Source", abi)("Named", (...given) => seen.push(given)));
  await play("Named", { node, name: "alice.eth" });
  const [scope, args] = seen[0] ?? [];
  expect(scope).toMatchObject({ chainId: 5, blockNumber: 7, timestamp: 9n, logIndex: 3, emitter: contract });
  expect(args).toEqual({ node, name: "alice.eth" });
});

test("nothing is registered for an unconfigured source", () => {
  const { handlers } = open(
    (events) => events("some/Source", abi)("Named", () => {}),
    (source) => source === "other/Source",
  );
  expect([...handlers.keys()]).toEqual([]);
});

test("an event that the ABI lacks is rejected at once", () => {
  const register = (events: EventsOf) => events("some/Source", abi)("Renamed" as "Named", () => {});
  expect(() => open(register)).toThrow("The ABI has no event Renamed");
});

test.each<[string, (Hex | null)[], number]>([
  ["as declared", [node, node], 1],
  ["as declared, the missing ones null", [node, node, null, null], 1],
  ["one too few", [node], 0],
  ["one too many", [node, node, node], 0],
])("topics %s", async (_, topics, count) => {
  let calls = 0;
  const { play } = open((events) => events("some/Source", abi)("Named", () => calls++));
  await play("Named", { node, name: "x" }, { topics });
  expect(calls).toBe(count);
});

test("with an emitter only that contract's logs count, case-insensitively", async () => {
  const emitters: Hex[] = [];
  const { play } = open((events) =>
    events("some/Source", abi, contract)("Named", ({ emitter }) => emitters.push(emitter)),
  );
  for (const byte of ["C0", "c1"])
    await play("Named", { node, name: "x" }, { emitter: `0x${byte.repeat(20)}` });
  expect(emitters).toEqual([contract]);
});

// viem's decoder drops a leading byte order mark; the contract emitted it.
test("strings are passed as emitted, each from its own position", async () => {
  const seen: unknown[] = [];
  const { play } = open((events) => events("some/Source", abi)(withValue, (_, args) => seen.push(args)));
  const data = encodeAbiParameters([{ type: "string" }, { type: "string" }], ["key", "\ufeffvalue"]);
  const args = { node, indexedKey: node, key: "key", value: "value" };
  await play(withValue, args, { topics: [node, node, node], data });
  expect(seen).toEqual([{ ...args, value: "\ufeffvalue" }]);
  expect(args.value).toBe("value");
});
