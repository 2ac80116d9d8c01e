import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { encodeAbiParameters, type Hex, keccak256, stringToHex, toEventSelector } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EmittedLog } from "../../devnet/events.ts";
import type { Contracts } from "../../devnet/life/actions.ts";
import { createScenario } from "../../devnet/life/scenario.ts";
import { readAddresses } from "../../devnet/recording.ts";
import { type EmittingChain, hasAnvil, startEmittingChain } from "../support/anvil.ts";
import { startWorld, type World } from "../support/world.ts";
import { honestCode, hostileCode } from "./support/hostile-contracts.ts";
import { respondError, startRpcProxy } from "./support/rpc-proxy.ts";

// The old TextChanged does not carry the value, and any contract may emit it: the indexer reads the value from a
// contract that an attacker wrote. Whatever it does, the next block is indexed.

const addressOf = (place: number): Hex => `0x${"e1".repeat(18)}${place.toString(16).padStart(4, "0")}`;
const names = Object.keys(hostileCode);
const honest = addressOf(0);
const addresses = new Map(names.map((name, place) => [name, addressOf(place + 1)]));

// Responses of nodes other than anvil for the same contracts, and failures of a node that the call disrupts.
const gethSays = addressOf(100);
const gethGivesUp = addressOf(101);
const unknownWords = addressOf(102);
const serverFails = addressOf(103);
const neverResponds = addressOf(104);
const ofNodes = new Map([
  [gethSays, "gas uint64 overflow"],
  [gethGivesUp, "execution aborted (timeout = 5s)"],
  [unknownWords, "the evm is tired"],
]);

function textChanged(address: Hex, key = "url"): EmittedLog {
  return {
    address,
    topics: [
      toEventSelector("TextChanged(bytes32,string,string)"),
      keccak256(stringToHex("node")),
      keccak256(stringToHex(key)),
    ],
    data: encodeAbiParameters([{ type: "string" }], [key]),
  };
}

describe.runIf(hasAnvil())("a contract that is read because of its event", () => {
  const contracts = readAddresses(new URL("../../devnet/recording/a", import.meta.url).pathname) as Contracts;
  const scenario = createScenario({ contracts, seed: 16 });
  const received: string[] = [];
  const internal = createServer((incoming, response) => {
    received.push(`${incoming.method} ${incoming.url}`);
    response.end(JSON.stringify({ data: encodeAbiParameters([{ type: "string" }], ["SECRET"]) }));
  });
  let anvil: EmittingChain;
  let proxy: Awaited<ReturnType<typeof startRpcProxy>>;
  let world: World;
  let next = 0;

  beforeAll(async () => {
    await new Promise<void>((resolve) => internal.listen(0, "127.0.0.1", resolve));
    const internalUrl = `http://127.0.0.1:${(internal.address() as AddressInfo).port}`;
    anvil = await startEmittingChain(15658733, Object.values(contracts));
    for (const [name, address] of addresses) {
      await anvil.request("anvil_setCode", address, hostileCode[name]?.(address, internalUrl));
    }
    for (const address of [honest, ...ofNodes.keys(), serverFails, neverResponds]) {
      await anvil.request("anvil_setCode", address, honestCode("a value"));
    }
    proxy = await startRpcProxy(anvil.url, (request, response) => {
      if (request.method !== "eth_call") return false;
      const [{ to }] = request.params as [{ to: Hex }];
      const message = ofNodes.get(to);
      if (message !== undefined) return respondError(response, request, message);
      if (to === serverFails) response.writeHead(502).end();
      return to === serverFails || to === neverResponds;
    });
    await anvil.mine([register("before")]);
    world = await startWorld({
      rpcUrl: proxy.url,
      environment: { PLUGINS: "subgraph,protocol-acceleration", SUBGRAPH_COMPAT: "false" },
    });
    world.start();
    await world.waitForIndex({ block: await anvil.head() });
  });
  afterAll(async () => {
    await world?.close();
    proxy?.close();
    await anvil?.close();
    internal.close();
  });

  function register(label: string) {
    const [transaction] = scenario.registerName(Math.floor(Date.now() / 1000), { label, owner: 1 });
    return transaction!.logs;
  }

  // The service writes the text of its metrics out once a second.
  async function anomalies(kind: string): Promise<number> {
    const metrics = await (await fetch(`${world.url}/metrics`)).text();
    const found = new RegExp(`^nsindex_anomalies_total\\{anomaly="${kind}"\\} (\\d+)`, "m").exec(metrics);
    return Number(found?.[1] ?? 0);
  }

  /** Mines these events and, in the next block, a registration, and waits for both. */
  async function indexAfter(logs: readonly (readonly EmittedLog[])[]): Promise<void> {
    const label = `normal${next++}`;
    await anvil.mine(logs);
    await anvil.mine([register(label)]);
    await world.waitForIndex({ block: await anvil.head() });
    const { registrations } = await world.query<{ registrations: unknown[] }>(
      `{ registrations(where: { labelName: "${label}" }) { labelName } }`,
    );
    expect(registrations).toHaveLength(1);
  }

  test("an honest contract is read", async () => {
    await indexAfter([[textChanged(honest)]]);
    expect(await anomalies("unreadable-contract")).toBe(0);
    expect(proxy.countOf("eth_call")).toBe(1);
  });

  test.each([
    ...addresses,
    ["geth's words for memory that costs too much", gethSays],
    ["geth's words for its time limit", gethGivesUp],
    ["words that nobody knows", unknownWords],
    ["a failing server in front of the node", serverFails],
    ["no response", neverResponds],
  ] as [string, Hex][])("does not hold the index with %s", async (_, address) => {
    const before = await anomalies("unreadable-contract");
    await indexAfter([[textChanged(address)]]);
    await expect.poll(() => anomalies("unreadable-contract")).toBe(before + 1);
  });

  test("is read a bounded number of times in a flood", async () => {
    for (const name of ["the invalid instruction", "a loop until the gas is gone"]) {
      // Time for the chain to grant reads again.
      await anvil.request("evm_increaseTime", 200);
      const denied = await anomalies("too-many-reads");
      const flood = Array.from({ length: 300 }, (_, i) =>
        textChanged(addresses.get(name) ?? honest, `key${i % 50}`),
      );
      await indexAfter([flood]);
      await expect.poll(() => anomalies("too-many-reads")).toBe(denied + 200);
    }
  });

  test("reaches no address of its choice, and ends no process", () => {
    expect(received).toEqual([]);
    world.expectRunning();
  });

  test("does not hold a new index over the same blocks", async () => {
    const fresh = await startWorld({
      rpcUrl: proxy.url,
      environment: { PLUGINS: "subgraph,protocol-acceleration", SUBGRAPH_COMPAT: "false" },
    });
    fresh.start();
    await fresh.waitForIndex({ block: await anvil.head() }).finally(fresh.close);
    expect(received).toEqual([]);
  });
});
