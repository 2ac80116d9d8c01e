import type { ServerResponse } from "node:http";
import { encodeAbiParameters, type Hex, keccak256, padHex, stringToHex, toEventSelector } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EmittedLog } from "../../devnet/events.ts";
import { readDeployment, register as registration } from "../../devnet/life.ts";
import { recordingFolder } from "../../devnet/recorded-chains.ts";
import { readAddresses } from "../../devnet/recording.ts";
import { listen } from "../../devnet/rpc/server.ts";
import { addrReverseNode, subnode } from "../../src/ens/ids.ts";
import { labelhash } from "../../src/ens/labels.ts";
import { type EmittingChain, hasAnvil, startEmittingChain } from "../support/anvil.ts";
import { startWorld, type World } from "../support/world.ts";
import { honestCode, hostileCode } from "./support/hostile-contracts.ts";
import { type ProxiedRequest, respondError, startRpcProxy } from "./support/rpc-proxy.ts";

// What handlers ask of nodes, and attackers determine: the value of the old TextChanged comes from the contract that
// emitted it, which anybody may deploy, and the label of an account's reverse name from the call trace of a
// transaction, whose length and duration its sender controls. Whatever comes, the next block is indexed.

const addressOf = (index: number): Hex => `0x${"e1".repeat(18)}${index.toString(16).padStart(4, "0")}`;
const honest = addressOf(0);
const hostile = new Map(Object.keys(hostileCode).map((name, index) => [name, addressOf(index + 1)]));
// Responses of nodes other than anvil for the same contracts, and failures of a node that the call disrupts.
const ofNodes = new Map([
  [addressOf(100), "gas uint64 overflow"],
  [addressOf(101), "execution aborted (timeout = 5s)"],
  [addressOf(102), "the evm is tired"],
]);
const [serverFails, neverResponds] = [addressOf(103), addressOf(104)];
const unreadable = [...hostile.values(), ...ofNodes.keys(), serverFails, neverResponds];

function textChanged(address: Hex, key = "url"): EmittedLog {
  const topics = ["node", key].map((text) => keccak256(stringToHex(text)));
  return {
    address,
    topics: [toEventSelector("TextChanged(bytes32,string,string)"), ...topics],
    data: encodeAbiParameters([{ type: "string" }], [key]),
  };
}

const account = (seed: string) => keccak256(stringToHex(seed)).slice(0, 42) as Hex;
const [registry, registrar] = ["0x9a676e781a523b5d0c0e43731313a708cb607508", account("reverse")] as const;
const newOwner = (address: Hex): EmittedLog => ({
  address: registry,
  topics: [
    toEventSelector("NewOwner(bytes32,bytes32,address)"),
    addrReverseNode,
    labelhash(address.slice(2)),
  ],
  data: encodeAbiParameters([{ type: "address" }], [account("owner")]),
});

type Trace = (response: ServerResponse, request: ProxiedRequest) => void;

const frame = (to: Hex) => `{"type":"STATICCALL","from":"${account("from")}","to":"${to}","input":"0x"}`;
const traceOf =
  (calls: string): Trace =>
  (response, { id }) => {
    response.writeHead(200, { "content-type": "application/json" });
    const root = frame(account("root")).slice(0, -1);
    response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${root},"calls":[${calls}]}}`);
  };
const many = (count: number, last: Hex) => `${`${frame(account("same"))},`.repeat(count - 1)}${frame(last)}`;
const nested = (depth: number, last: Hex) =>
  `${`${frame(account("same")).slice(0, -1)},"calls":[`.repeat(depth)}${frame(last)}${"]}".repeat(depth)}`;
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

// What a node returns for the trace of a transaction, and whether the account that it names is healed by it.
const traces: [kind: string, of: (address: Hex) => Trace, isHealed: boolean][] = [
  ["a trace", (address) => traceOf(frame(address)), true],
  ["20,000 calls in one frame", (address) => traceOf(many(20_000, address)), true],
  ["calls 1,000 deep", (address) => traceOf(nested(1_000, address)), true],
  ["150,000 calls", (address) => traceOf(many(150_000, address)), false],
  ["endless length", () => endless, false],
  ["nothing within ten seconds", () => () => {}, false],
  ["a refusal", () => (response, request) => respondError(response, request, "execution timeout"), false],
  ["a broken connection", () => (response) => void response.destroy(), false],
  ["no JSON", () => (response) => response.end("<html>"), false],
  [
    "no object",
    () =>
      (response, { id }) =>
        response.end(JSON.stringify({ id, result: 5 })),
    false,
  ],
];

describe.runIf(hasAnvil())("handlers that ask nodes", () => {
  const contracts = Object.values(readAddresses(recordingFolder("root")));
  const environment = { PLUGINS: "subgraph,protocol-acceleration", SUBGRAPH_COMPAT: "false" };
  const received: string[] = [];
  let internal: Awaited<ReturnType<typeof listen>>;
  let anvil: EmittingChain;
  let proxy: Awaited<ReturnType<typeof startRpcProxy>>;
  let world: World;
  let registered = 0;
  // For each transaction in the order in which their traces are asked for; the last for all after it.
  let expected: Trace[] = [];
  const traced = new Map<unknown, Trace | undefined>();

  beforeAll(async () => {
    internal = await listen((incoming, response) => {
      received.push(`${incoming.method} ${incoming.url}`);
      response.end(JSON.stringify({ data: encodeAbiParameters([{ type: "string" }], ["SECRET"]) }));
    });
    anvil = await startEmittingChain(15658733, [...contracts, registrar]);
    for (const [name, address] of hostile)
      await anvil.request("anvil_setCode", address, hostileCode[name]?.(address, internal.url));
    for (const address of [honest, ...ofNodes.keys(), serverFails, neverResponds])
      await anvil.request("anvil_setCode", address, honestCode("a value"));
    proxy = await startRpcProxy(anvil.url, (request, response) => {
      const { method, params } = request;
      if (method === "debug_traceTransaction") {
        if (!traced.has(params[0]))
          traced.set(params[0], expected.length > 1 ? expected.shift() : expected[0]);
        traced.get(params[0])?.(response, request);
        return true;
      }
      if (method !== "eth_call") return false;
      const [{ to }] = params as [{ to: Hex }];
      const message = ofNodes.get(to);
      if (message !== undefined) return respondError(response, request, message);
      if (to === serverFails) response.writeHead(502).end();
      return to === serverFails || to === neverResponds;
    });
    await anvil.mine([register("before")]);
    world = await startWorld({ rpcUrl: proxy.url, environment });
    world.start();
    await world.waitForIndex({ block: await anvil.head() });
  });
  afterAll(async () => {
    await world?.close();
    await proxy?.close();
    await anvil?.close();
    await internal?.close();
  });

  const register = (label: string) =>
    registration(readDeployment("root"), { label, owner: account("owner"), expires: 2_000_000_000n }).logs;

  async function anomalies(kind: string): Promise<number> {
    const metrics = await (await fetch(`${world.url}/metrics`)).text();
    const found = new RegExp(`^nsindex_anomalies_total\\{anomaly="${kind}"\\} (\\d+)`, "m").exec(metrics);
    return Number(found?.[1] ?? 0);
  }

  /** Mines blocks of transactions, a registration in the block after each, and waits for all of them. */
  async function indexAfter(...blocks: EmittedLog[][][]): Promise<void> {
    const labels: string[] = [];
    for (const transactions of blocks) {
      const label = `normal${registered++}`;
      labels.push(label);
      await anvil.mine(transactions);
      await anvil.mine([register(label)]);
    }
    await world.waitForIndex({ block: await anvil.head() });
    const { registrations } = await world.query<{ registrations: unknown[] }>(
      `{ registrations(first: 100, where: { labelName_in: ${JSON.stringify(labels)} }) { labelName } }`,
    );
    expect(registrations).toHaveLength(labels.length);
  }

  async function labelOf(address: Hex): Promise<string | null | undefined> {
    const id = subnode(addrReverseNode, labelhash(address.slice(2)));
    const { domain } = await world.query<{ domain: { labelName: string | null } | null }>(
      `{ domain(id: "${id}") { labelName } }`,
    );
    return domain?.labelName;
  }

  test("an honest contract is read", async () => {
    await indexAfter([[textChanged(honest)]]);
    expect(await anomalies("unreadable-contract")).toBe(0);
    expect(proxy.countOf("eth_call")).toBe(1);
  });

  test("a contract holds the index by no way to fail", async () => {
    await indexAfter(...unreadable.map((address) => [[textChanged(address)]]));
    await expect.poll(() => anomalies("unreadable-contract")).toBe(unreadable.length);
  });

  test("a contract is read a bounded number of times in a flood", async () => {
    for (const name of ["the invalid instruction", "a loop until the gas is gone"]) {
      // Time for the chain to grant reads again.
      await anvil.request("evm_increaseTime", 200);
      const denied = await anomalies("too-many-reads");
      const flood = Array.from({ length: 300 }, (_, i) =>
        textChanged(hostile.get(name) ?? honest, `key${i % 50}`),
      );
      await indexAfter([flood]);
      await expect.poll(() => anomalies("too-many-reads")).toBe(denied + 200);
    }
  });

  test("contracts hold no new index over the same blocks, and reach no address of their choice", async () => {
    const fresh = await startWorld({ rpcUrl: proxy.url, environment });
    fresh.start();
    await fresh.waitForIndex({ block: await anvil.head() }).finally(fresh.close);
    expect(received).toEqual([]);
    world.expectRunning();
  });

  test("an account is healed by the event of the reverse registrar, without a trace", async () => {
    const claimed = account("claimed");
    const node = subnode(addrReverseNode, labelhash(claimed.slice(2)));
    const selector = toEventSelector("ReverseClaimed(address,bytes32)");
    const topics = [selector, padHex(claimed, { size: 32 }), node];
    await indexAfter([[{ address: registrar, topics, data: "0x" }, newOwner(claimed)]]);
    expect(await labelOf(claimed)).toBe(claimed.slice(2));
    expect(proxy.countOf("debug_traceTransaction")).toBe(0);
  });

  test("a transaction is traced once, whatever number of accounts it names", async () => {
    const accounts = Array.from({ length: 20 }, (_, i) => account(`account ${i}`));
    expected = [traceOf(accounts.map(frame).join())];
    await indexAfter([accounts.map(newOwner)]);
    for (const address of accounts) expect(await labelOf(address)).toBe(address.slice(2));
    expect(proxy.countOf("debug_traceTransaction")).toBe(1);
  });

  test("a trace holds the index by nothing that it is", async () => {
    expected = traces.map(([kind, of]) => of(account(kind)));
    await indexAfter(...traces.map(([kind]) => [[newOwner(account(kind))]]));
    for (const [kind, , isHealed] of traces) {
      const name = account(kind).slice(2);
      expect(await labelOf(account(kind)), kind).toBe(isHealed ? name : `[${labelhash(name).slice(2)}]`);
    }
    world.expectRunning();
  });

  test("hundreds of transactions whose traces never come do not hold the index", async () => {
    expected = [() => {}];
    // Time for the chain to grant reads again.
    await anvil.request("evm_increaseTime", 600);
    const before = proxy.countOf("debug_traceTransaction");
    await indexAfter(Array.from({ length: 200 }, (_, i) => [newOwner(account(`slow ${i}`))]));
    // Two attempts each for the first ones, then one; the chain's allowance is thirty transactions at once.
    expect(proxy.countOf("debug_traceTransaction") - before).toBeLessThan(40);
  });
});
