import fc from "fast-check";
import { type Hex, namehash, numberToHex, pad } from "viem";
import { entryPoint07Address } from "viem/account-abstraction";
import { describe, expect, test } from "vitest";
import { checkpointOf } from "../../test/support/checkpoints.ts";
import { createChainsHarness, type EventOrigin } from "../../test/support/handlers.ts";
import { labelhash } from "../ens/labels.ts";
import { v2Account } from "../schema/ensv2.ts";
import { registrarAction, registrationLifecycle, subregistry } from "../schema/registrars.ts";

const owner: Hex = `0x${"a1".repeat(20)}`;
const registrant: Hex = `0x${"b0".repeat(20)}`;
const registrar: Hex = "0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85";
const transactionHash: Hex = `0x${"7a".repeat(32)}`;
const referrer: Hex = "0x0000000000000000000000005a1de0c3b7f24e86d9310ab27c4f5e6d7a8b9c01";
const id = BigInt(labelhash("alice"));
const label = labelhash("alice");
const now = 1_700_000_000;
const expires = 1_731_536_000n;

// `at(1)` is the first log of block 7.
const at = (logIndex: number, more: EventOrigin = {}): EventOrigin => ({
  block: 7,
  timestamp: now,
  logIndex,
  transactionHash,
  sender: registrant,
  emitter: registrar,
  ...more,
});
const idAt = (logIndex: number, chainId = 1) =>
  checkpointOf({ number: 7, timestamp: now, logIndex }, chainId);

function createHarness(settings: Parameters<typeof createChainsHarness>[0] = {}) {
  const harness = createChainsHarness(settings);
  const register = (place: EventOrigin, args: Record<string, unknown> = {}, deployment = "ensroot") =>
    harness.play(
      `registrars/${deployment}/BaseRegistrar:NameRegistered`,
      { id, owner, expires, ...args },
      place,
    );
  const renew = (place: EventOrigin, args: Record<string, unknown> = {}, deployment = "ensroot") =>
    harness.play(`registrars/${deployment}/BaseRegistrar:NameRenewed`, { id, expires, ...args }, place);
  const sell = (event: "NameRegistered" | "NameRenewed", cost: bigint, place: EventOrigin, hash = label) =>
    harness.play(
      `registrars/ensroot/LegacyEthRegistrarController:${event}`,
      { name: "alice", label: hash, owner, expires, cost },
      place,
    );
  const actions = () => harness.rows(registrarAction);
  return { ...harness, register, renew, sell, actions };
}

test("a registration opens an action and a lifecycle, and names its registrar", async () => {
  const { register, rows, anomalies } = createHarness();
  await register(at(3));
  expect(rows(registrarAction)).toEqual([
    {
      id: "170000000000000000000000010000000000000007000000000000000050000000000000003",
      type: "registration",
      subregistryId: "eip155:1:0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85",
      node: namehash("alice.eth"),
      incrementalDuration: 31_536_000n,
      baseCost: null,
      premium: null,
      total: null,
      paymentToken: null,
      registrant,
      encodedReferrer: null,
      decodedReferrer: null,
      blockNumber: 7n,
      timestamp: 1_700_000_000n,
      transactionHash,
      eventIds: ["170000000000000000000000010000000000000007000000000000000050000000000000003"],
    },
  ]);
  expect(rows(registrationLifecycle)).toMatchObject([
    { node: namehash("alice.eth"), subregistryId: `eip155:1:${registrar}`, expiresAt: expires },
  ]);
  expect(rows(subregistry)).toEqual([{ subregistryId: `eip155:1:${registrar}`, node: namehash("eth") }]);
  expect(anomalies).toEqual([]);
});

describe("an action by a user operation (ERC-4337)", () => {
  const [first, second] = ["ac", "ad"].map((byte) => `0x${byte.repeat(20)}`) as [Hex, Hex];
  const entryPoint = entryPoint07Address.toLowerCase() as Hex;
  // keccak-256 of the event's signature in the standard's reference contracts.
  const ended = "0x49628fd1471006c1482da88028e9ce4dbb080b815c9b0344d39e5a8e6ec1419f";
  const endOf = (account: Hex, logIndex: number, address: Hex = entryPoint07Address) => ({
    ...{ address, logIndex: numberToHex(logIndex), data: "0x" },
    topics: [ended, transactionHash, pad(account), pad("0x00")],
  });
  // Two operations, each with logs of its own before its end; another contract emits the same event.
  const logs = [endOf(second, 4, registrar), endOf(first, 5), endOf(second, 9)];
  const place = (logIndex: number, more: EventOrigin = {}) =>
    at(logIndex, { recipient: entryPoint, ...more });
  const open = (receipt: unknown, isV2Indexed = false) =>
    createHarness({
      nodes: async (_, { method }) => (method === "eth_getTransactionReceipt" ? receipt : undefined),
      isV2Indexed,
    });

  test("is the account's whose operation ends next", async () => {
    const { register, renew, actions } = open({ logs });
    await register(place(3));
    await renew(place(8), { expires: expires + 5n });
    expect(actions().map((action) => action["registrant"])).toEqual([first, second]);
  });

  test("is the owner's for whom an account of ENSv2 acts", async () => {
    const { register, store, actions } = open({ logs }, true);
    await store.db.insert(v2Account).values({ chainId: 1, account: first, owner });
    await register(place(3));
    expect(actions()).toMatchObject([{ registrant: owner }]);
  });

  test.each<[string, unknown]>([
    ["no receipt", undefined],
    ["one without logs", {}],
    ["one with odd logs", { logs: [{}, { address: entryPoint, topics: [ended], logIndex: "0x9" }] }],
  ])("is the relayer's with %s", async (_, receipt) => {
    const { register, actions, anomalies } = open(receipt);
    await register(place(3));
    expect(actions()).toMatchObject([{ registrant }]);
    expect(anomalies).toEqual(["unknown-account"]);
  });

  test("on another chain, and in any other transaction, asks no node", async () => {
    const { register, actions } = createHarness();
    await register(at(3, { recipient: registrar }));
    await register(place(4, { chainId: 8453 }), {}, "basenames");
    expect(actions().map((action) => action["registrant"])).toEqual([registrant, registrant]);
  });
});

const none = { baseCost: null, premium: null, total: null };
const noReferral = { encodedReferrer: null, decodedReferrer: null };
const price = (baseCost: bigint, premium: bigint, total: bigint) => ({ baseCost, premium, total });
const hashed = { name: "alice", label, owner, expires };
const unhashed = { label: "alice", labelhash: label, owner, expires, referrer };
const referral = { encodedReferrer: referrer, decodedReferrer: "0x5a1de0c3b7f24e86d9310ab27c4f5e6d7a8b9c01" };

test.each<[deployment: string, event: string, args: Record<string, unknown>, facts: object]>([
  ["ensroot", "LegacyEthRegistrarController:NameRegistered", { ...hashed, cost: 5n }, price(5n, 0n, 5n)],
  ["ensroot", "LegacyEthRegistrarController:NameRenewed", { ...hashed, cost: 5n }, price(5n, 0n, 5n)],
  [
    "ensroot",
    "WrappedEthRegistrarController:NameRegistered",
    { ...hashed, baseCost: 5n, premium: 2n },
    price(5n, 2n, 7n),
  ],
  ["ensroot", "WrappedEthRegistrarController:NameRenewed", { ...hashed, cost: 5n }, price(5n, 0n, 5n)],
  [
    "ensroot",
    "UnwrappedEthRegistrarController:NameRegistered",
    { ...unhashed, baseCost: 5n, premium: 2n },
    { ...price(5n, 2n, 7n), ...referral },
  ],
  [
    "ensroot",
    "UnwrappedEthRegistrarController:NameRenewed",
    { ...unhashed, cost: 5n },
    { ...price(5n, 0n, 5n), ...referral },
  ],
  ["basenames", "EARegistrarController:NameRegistered", hashed, none],
  ["basenames", "RegistrarController:NameRegistered", hashed, none],
  ["basenames", "RegistrarController:NameRenewed", hashed, none],
  ["basenames", "UpgradeableRegistrarController:NameRegistered", hashed, none],
  ["basenames", "UpgradeableRegistrarController:NameRenewed", hashed, none],
  ["lineanames", "EthRegistrarController:OwnerNameRegistered", hashed, price(0n, 0n, 0n)],
  ["lineanames", "EthRegistrarController:PohNameRegistered", hashed, price(0n, 0n, 0n)],
  [
    "lineanames",
    "EthRegistrarController:NameRegistered",
    { ...hashed, baseCost: 5n, premium: 2n },
    price(5n, 2n, 7n),
  ],
  ["lineanames", "EthRegistrarController:NameRenewed", { ...hashed, cost: 5n }, price(5n, 0n, 5n)],
])("%s %s completes the action", async (deployment, event, args, facts) => {
  const { play, register, actions, anomalies } = createHarness();
  await register(at(3), {}, deployment);
  await play(`registrars/${deployment}/${event}`, args, at(4));
  const chainId = { ensroot: 1, basenames: 8453, lineanames: 59144 }[deployment] ?? 0;
  expect(actions()).toMatchObject([
    { ...noReferral, ...facts, eventIds: [idAt(3, chainId), idAt(4, chainId)] },
  ]);
  expect(anomalies).toEqual([]);
});

test("a referred renewal has three events: registrar, controller, referral contract", async () => {
  const { play, register, renew, actions } = createHarness();
  await register(at(1, { transactionHash: `0x${"00".repeat(32)}` }));
  await renew(at(3), { expires: expires + 9n });
  await play("registrars/ensroot/WrappedEthRegistrarController:NameRenewed", { ...hashed, cost: 5n }, at(4));
  await play(
    "registrars/ensroot/UniversalRegistrarRenewalWithReferrer:RenewalReferred",
    { label: "alice", labelHash: label, cost: 5n, duration: 9n, referrer },
    at(6),
  );
  expect(actions()[1]).toMatchObject({
    type: "renewal",
    ...price(5n, 0n, 5n),
    encodedReferrer: referrer,
    eventIds: [idAt(3), idAt(4), idAt(6)],
  });
});

test("NameRegisteredWithRecord registers as NameRegistered does", async () => {
  const { play, actions, rows } = createHarness();
  const args = { id, owner, expires, resolver: owner, ttl: 0n };
  await play("registrars/basenames/BaseRegistrar:NameRegisteredWithRecord", args, at(3));
  expect(actions()).toMatchObject([{ type: "registration", node: namehash("alice.base.eth") }]);
  expect(rows(subregistry)).toMatchObject([{ node: namehash("base.eth") }]);
});

test("several names in one transaction keep their events separate, in any order", async () => {
  const { sell, register, actions } = createHarness();
  const bob = labelhash("bob");
  await register(at(1));
  await register(at(2), { id: BigInt(bob) });
  await sell("NameRegistered", 1n, at(3));
  await sell("NameRegistered", 2n, at(4), bob);
  expect(actions()).toMatchObject([
    { node: namehash("alice.eth"), total: 1n, eventIds: [idAt(1), idAt(3)] },
    { node: namehash("bob.eth"), total: 2n, eventIds: [idAt(2), idAt(4)] },
  ]);
});

test("of several actions on one name in a transaction the newest is completed", async () => {
  const { sell, register, renew, actions } = createHarness();
  await register(at(1));
  await sell("NameRegistered", 1n, at(2));
  await renew(at(3), { expires: expires + 5n });
  await sell("NameRenewed", 2n, at(4));
  expect(actions()).toMatchObject([
    { type: "registration", total: 1n, eventIds: [idAt(1), idAt(2)] },
    { type: "renewal", total: 2n, incrementalDuration: 5n, eventIds: [idAt(3), idAt(4)] },
  ]);
});

test("a controller's event without a registrar's is skipped", async () => {
  const { sell, actions, anomalies } = createHarness();
  await sell("NameRegistered", 1n, at(2));
  expect(actions()).toEqual([]);
  expect(anomalies).toEqual(["controller-without-registrar"]);
});

test("a controller's event of another transaction leaves the action alone", async () => {
  const { sell, register, actions, anomalies } = createHarness();
  await register(at(1));
  const other = { ...at(2), transactionHash: `0x${"0b".repeat(32)}` as Hex };
  await sell("NameRenewed", 2n, other);
  expect(actions()).toMatchObject([{ total: null, eventIds: [idAt(1)] }]);
  expect(anomalies).toEqual(["controller-without-registrar"]);
});

test("a renewal of a name that was never registered is skipped", async () => {
  const { renew, actions, rows, anomalies } = createHarness();
  await renew(at(1));
  expect(actions()).toEqual([]);
  expect(rows(registrationLifecycle)).toEqual([]);
  expect(anomalies).toEqual(["unknown-lifecycle"]);
});

test("a renewal into the past is not an action, but moves the lifecycle; its controller's event matches nothing", async () => {
  const { sell, register, renew, actions, rows, anomalies } = createHarness();
  await register(at(1));
  await renew(at(2), { expires: expires - 1n });
  await sell("NameRenewed", 2n, at(3));
  expect(actions()).toMatchObject([{ type: "registration", total: null, eventIds: [idAt(1)] }]);
  expect(rows(registrationLifecycle)).toMatchObject([{ expiresAt: expires - 1n }]);
  expect(anomalies).toEqual(["negative-duration", "controller-without-registrar"]);
});

test("a registration that has already expired is not an action", async () => {
  const { register, actions, rows, anomalies } = createHarness();
  await register(at(1), { expires: BigInt(now) - 1n });
  expect(actions()).toEqual([]);
  expect(rows(registrationLifecycle)).toMatchObject([{ expiresAt: 1_699_999_999n }]);
  expect(anomalies).toEqual(["negative-duration"]);
});

const oddEvent = fc.record({
  kind: fc.constantFrom("register", "renew", "legacy", "unwrapped", "referral"),
  name: fc.constantFrom("alice", "bob"),
  expires: fc.bigInt({ min: 0n, max: 2n ** 64n }),
  transaction: fc.integer({ min: 1, max: 3 }),
});

test("no sequence of events stops the index, or leaves an action that contradicts itself", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(oddEvent, { maxLength: 25 }), async (events) => {
      const { play, register, renew, sell, rows, actions } = createHarness();
      const ordered = events.toSorted((a, b) => a.transaction - b.transaction);
      for (const [index, event] of ordered.entries()) {
        const where = at(index, { transactionHash: `0x${String(event.transaction).repeat(64)}` });
        const hash = labelhash(event.name);
        const facts = { owner, expires: event.expires };
        const root = "registrars/ensroot";
        const plays: Record<string, () => Promise<void>> = {
          register: () => register(where, { id: BigInt(hash), expires: event.expires }),
          renew: () => renew(where, { id: BigInt(hash), expires: event.expires }),
          legacy: () => sell("NameRenewed", 5n, where, hash),
          unwrapped: () =>
            play(
              `${root}/UnwrappedEthRegistrarController:NameRegistered`,
              { ...facts, label: event.name, labelhash: hash, baseCost: 3n, premium: 2n, referrer },
              where,
            ),
          referral: () =>
            play(
              `${root}/UniversalRegistrarRenewalWithReferrer:RenewalReferred`,
              { label: event.name, labelHash: hash, cost: 5n, duration: 1n, referrer },
              where,
            ),
        };
        await plays[event.kind]?.();
      }
      const seen = new Set<string>();
      for (const action of actions()) {
        const ids = action["eventIds"] as string[];
        expect(ids[0]).toBe(action["id"]);
        expect(ids).toEqual(ids.toSorted());
        for (const eventOfAction of ids) {
          expect(seen.has(eventOfAction)).toBe(false);
          seen.add(eventOfAction);
        }
        expect(action["incrementalDuration"] as bigint).toBeGreaterThanOrEqual(0n);
        expect([null, 5n]).toContain(action["total"]);
        expect(action["decodedReferrer"] === null).toBe(action["encodedReferrer"] === null);
        expect(rows(registrationLifecycle).map((row) => row["node"])).toContain(action["node"]);
      }
    }),
    { numRuns: 150 },
  );
});
