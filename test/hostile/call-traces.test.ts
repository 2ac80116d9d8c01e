import type { ServerResponse } from "node:http";
import { encodeAbiParameters, type Hex, keccak256, padHex, stringToHex, toEventSelector } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EmittedLog } from "../../devnet/events.ts";
import type { Contracts } from "../../devnet/life/actions.ts";
import { createScenario } from "../../devnet/life/scenario.ts";
import { readAddresses } from "../../devnet/recording.ts";
import { addrReverseNode, subnode } from "../../src/ens/ids.ts";
import { labelhash } from "../../src/ens/labels.ts";
import { type EmittingChain, hasAnvil, startEmittingChain } from "../support/anvil.ts";
import { startWorld, type World } from "../support/world.ts";
import { type ProxiedRequest, respondError, startRpcProxy } from "./support/rpc-proxy.ts";

// The label of an account's reverse name is only in the transaction. Its sender controls the length of its call trace,
// and how long the node takes for it. In any case, the next block is indexed.

const account = (seed: string) => keccak256(stringToHex(seed)).slice(0, 42) as Hex;
const hidden = account("hidden");
const frame = (to: Hex) => `{"type":"STATICCALL","from":"${account("from")}","to":"${to}","input":"0x"}`;

type Trace = (response: ServerResponse, request: ProxiedRequest) => void;

const traceOf =
  (calls: string): Trace =>
  (response, { id }) => {
    response.writeHead(200, { "content-type": "application/json" });
    const root = frame(account("root")).slice(0, -1);
    response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${root},"calls":[${calls}]}}`);
  };

const many = (count: number, last = "") =>
  `${`${frame(account("same"))},`.repeat(count - 1)}${last || frame(hidden)}`;
const nested = (depth: number) =>
  `${`${frame(account("same")).slice(0, -1)},"calls":[`.repeat(depth)}${frame(hidden)}${"]}".repeat(depth)}`;

const endless: Trace = (response) => {
  response.writeHead(200, { "content-type": "application/json" });
  response.write('{"jsonrpc":"2.0","id":1,"result":{"input":"0x');
  const piece = "00".repeat(1 << 16);
  const more = () => {
    while (!response.destroyed && response.write(piece));
  };
  response.on("drain", more);
  more();
};

describe.runIf(hasAnvil())("a transaction that names an account", () => {
  const contracts = readAddresses(new URL("../../devnet/recording/a", import.meta.url).pathname) as Contracts;
  const scenario = createScenario({ contracts, seed: 17 });
  const registry = "0x9a676e781a523b5d0c0e43731313a708cb607508";
  const registrar = account("reverse registrar");
  let anvil: EmittingChain;
  let proxy: Awaited<ReturnType<typeof startRpcProxy>>;
  let world: World;
  let trace: Trace | undefined;
  let next = 0;

  beforeAll(async () => {
    anvil = await startEmittingChain(15658733, [...Object.values(contracts), registrar]);
    proxy = await startRpcProxy(anvil.url, (request, response) => {
      if (request.method !== "debug_traceTransaction" || trace === undefined) return false;
      trace(response, request);
      return true;
    });
    await anvil.mine([register("before")]);
    world = await startWorld({ rpcUrl: proxy.url, environment: { SUBGRAPH_COMPAT: "false" } });
    world.start();
    await world.waitForIndex({ block: await anvil.head() });
  });
  afterAll(async () => {
    await world?.close();
    proxy?.close();
    await anvil?.close();
  });

  function register(label: string) {
    const [transaction] = scenario.registerName(Math.floor(Date.now() / 1000), { label, owner: 1 });
    return transaction!.logs;
  }

  const newOwner = (address: Hex): EmittedLog => ({
    address: registry,
    topics: [
      toEventSelector("NewOwner(bytes32,bytes32,address)"),
      addrReverseNode,
      labelhash(address.slice(2)),
    ],
    data: encodeAbiParameters([{ type: "address" }], [account("owner")]),
  });

  /** Mines these events and, in the next block, a registration, and waits for both. */
  async function index(...transactions: EmittedLog[][]): Promise<void> {
    await anvil.mine(transactions);
    await anvil.mine([register(`normal${next++}`)]);
    await world.waitForIndex({ block: await anvil.head() });
  }

  async function labelOf(address: Hex): Promise<string | null | undefined> {
    const id = subnode(addrReverseNode, labelhash(address.slice(2)));
    const { domain } = await world.query<{ domain: { labelName: string | null } | null }>(
      `{ domain(id: "${id}") { labelName } }`,
    );
    return domain?.labelName;
  }

  const unhealed = (address: Hex) => `[${labelhash(address.slice(2)).slice(2)}]`;

  test("is healed by the event of the reverse registrar, without a trace", async () => {
    trace = (response, request) => respondError(response, request, "no trace is needed here");
    const claimed = account("claimed");
    const reverseNode = subnode(addrReverseNode, labelhash(claimed.slice(2)));
    const claim: EmittedLog = {
      address: registrar,
      topics: [
        toEventSelector("ReverseClaimed(address,bytes32)"),
        padHex(claimed, { size: 32 }),
        reverseNode,
      ],
      data: "0x",
    };
    await index([claim, newOwner(claimed)]);
    expect(await labelOf(claimed)).toBe(claimed.slice(2));
    expect(proxy.countOf("debug_traceTransaction")).toBe(0);
  });

  test("is healed by its call trace", async () => {
    trace = traceOf(frame(hidden));
    await index([newOwner(hidden)]);
    expect(await labelOf(hidden)).toBe(hidden.slice(2));
  });

  test("is traced once, whatever number of accounts it names", async () => {
    const before = proxy.countOf("debug_traceTransaction");
    const accounts = Array.from({ length: 20 }, (_, i) => account(`account ${i}`));
    trace = traceOf(accounts.map(frame).join());
    await index(accounts.map(newOwner));
    for (const address of accounts) expect(await labelOf(address)).toBe(address.slice(2));
    expect(proxy.countOf("debug_traceTransaction")).toBe(before + 1);
  });

  test.each<[string, Trace]>([
    ["of 150,000 calls", traceOf(many(150_000))],
    ["of endless length", endless],
    ["that takes longer than ten seconds", () => {}],
    ["that the node gives up", (response, request) => respondError(response, request, "execution timeout")],
    ["that breaks off", (response) => response.destroy()],
    ["that is not JSON", (response) => response.end("<html>")],
    ["that is not an object", (response, { id }) => response.end(JSON.stringify({ id, result: 5 }))],
  ])("does not hold the index with a trace %s", async (kind, answer) => {
    trace = answer;
    const address = account(kind);
    await index([newOwner(address)]);
    expect(await labelOf(address)).toBe(unhealed(address));
    world.expectRunning();
  });

  test.each<[string, (address: Hex) => string]>([
    ["of 20,000 calls in one frame", (address) => many(20_000, frame(address))],
    ["of calls 1,000 deep", (address) => nested(1_000).replace(hidden, address)],
  ])("is healed by a trace %s", async (kind, calls) => {
    const address = account(kind);
    trace = traceOf(calls(address));
    await index([newOwner(address)]);
    expect(await labelOf(address)).toBe(address.slice(2));
  });

  test("does not hold the index by hundreds of transactions whose traces never come", async () => {
    trace = () => {};
    const accounts = Array.from({ length: 200 }, (_, i) => account(`slow ${i}`));
    // Time for the chain to grant reads again.
    await anvil.request("evm_increaseTime", 600);
    const before = proxy.countOf("debug_traceTransaction");
    await index(...accounts.map((address) => [newOwner(address)]));
    // Two attempts each for the first ones, then one; the chain's allowance is thirty transactions at once.
    expect(proxy.countOf("debug_traceTransaction") - before).toBeLessThan(40);
  });
});
