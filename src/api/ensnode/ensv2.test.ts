import {
  decodeAbiParameters,
  encodeAbiParameters,
  type Hex,
  hexToBytes,
  type Log,
  namehash,
  parseAbi,
  parseEventLogs,
} from "viem";
import { beforeAll, describe, expect, test } from "vitest";
import { v2Addresses, v2ChainId } from "../../../devnet/recorded-chains.ts";
import { currentStatus, openEndpoints } from "../../../test/support/endpoints.ts";
import { readTruth, type Snapshot } from "../../../test/support/ensv2/recording.ts";
import { createStoredIndex } from "../../../test/support/ensv2/stored-index.ts";
import { createV2Index } from "../../../test/support/recorded-index.ts";
import { allPages } from "../../../test/support/recordings.ts";
import { indexedSubregistries } from "../../deployments/namespaces.ts";
import { rootNode, subnode, zeroAddress } from "../../ens/ids.ts";
import { keccak256 } from "../../ens/keccak.ts";
import { findV2Contracts, readNodesOfToken } from "../../read/names/v2-names.ts";
import type { Endpoint } from "../kit/endpoint.ts";
import { type NameTokensContext, namesContext, nameTokens } from "./name-tokens.ts";
import { openActions, type RegistrarActionsContext, registrarActions } from "./registrar-actions.ts";

// Actions and tokens of both generations, against what the logs of the recorded chain announce and what calls returned.

type Action = {
  action: Record<string, unknown> & {
    id: string;
    transactionHash: Hex;
    registrationLifecycle: { node: Hex; expiresAt: number; version?: string; reserved?: boolean };
  };
  name: string;
};
type Token = {
  token: { assetNamespace: string; contract: { address: Hex }; tokenId: Hex };
  ownership: { ownershipType: string; owner: { address: Hex } };
  mintStatus: string;
};

const plugins = ["subgraph", "ensv2", "registrars", "tokenscope", "protocol-acceleration"];
const eth = namehash("eth");
const {
  ETHRegistry = "0x",
  ETHRegistrar = "0x",
  ETHRenewerV1 = "0x",
  BaseRegistrar = "0x",
  Graveyard = "0x",
  MockUSDC = "0x",
  MockDAI = "0x",
} = v2Addresses as Record<string, Hex>;

const index = createV2Index();
const stored = await createStoredIndex();

function open(time: number, active = plugins) {
  const { datasources } = index.config;
  const contracts = findV2Contracts(datasources);
  const all: readonly Endpoint<RegistrarActionsContext & NameTokensContext>[] = [
    ...registrarActions,
    nameTokens,
  ];
  return openEndpoints(all, {
    database: stored.database,
    plugins: active,
    status: { current: () => currentStatus("omnichain-following", time) },
    ensv2: contracts,
    actions: openActions(stored.database, active.includes("ensv2") ? contracts : undefined),
    subregistries: indexedSubregistries(datasources, active),
    names: namesContext(datasources, active),
  }).ask;
}

const everyAction = (time: number, query = "") =>
  allPages<Action>(open(time), `/api/registrar-actions/${eth}${query}`, "registrarActions");

const sales = parseAbi([
  "event NameRegistered(uint256 indexed tokenId, string label, address owner, address subregistry, address resolver, uint64 duration, address paymentToken, bytes32 indexed referrer, uint256 base, uint256 premium)",
  "event NameRenewed(uint256 indexed tokenId, string label, uint64 duration, uint64 newExpiry, address paymentToken, bytes32 indexed referrer, uint256 amount)",
]);
const transfers = parseAbi([
  "event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)",
]);

const logsOf = (address: Hex, block: number) =>
  index.logs.filter((log) => log.address === address && Number(log.blockNumber) <= block) as unknown as Log[];
const price = (amount: bigint, address: Hex) => ({
  currency: address === MockUSDC ? "USDC" : address === MockDAI ? "DAI" : "ERC20",
  amount: String(amount),
  token: { chainId: v2ChainId, address },
});
const pricing = (base: bigint, premium: bigint, paymentToken: string) => {
  const token = paymentToken.toLowerCase() as Hex;
  return {
    baseCost: price(base, token),
    premium: price(premium, token),
    total: price(base + premium, token),
  };
};

// A label may be any bytes.
function nodeOfSale({ data }: { data: Hex }): Hex {
  const [label] = decodeAbiParameters([{ type: "bytes" }], data);
  return subnode(eth, keccak256(hexToBytes(label)));
}

const entriesOf = ({ registries }: Snapshot) =>
  new Map((registries[ETHRegistry]?.entries ?? []).map((entry) => [entry.raw, entry]));

// The state of a .eth name, by what calls returned.
function stateOf(snapshot: Snapshot, { raw, authority, v1 }: Snapshot["authority"][number]) {
  const entry = entriesOf(snapshot).get(raw);
  const isV2 = authority === "v2" || v1 === null;
  const expiry = isV2 ? entry?.expiry : v1?.expires;
  return {
    node: subnode(eth, keccak256(hexToBytes(raw))),
    entry,
    version: authority === "v2" ? "v2" : authority === "none" ? undefined : "v1",
    reserved: authority === "reserved",
    expiresAt: authority === "none" ? undefined : Number(expiry),
  };
}

// What both are of, v2-names.test.ts compares at every block.
describe.each(readTruth().filter((_, index) => index % 4 === 3))("at block $block", (snapshot) => {
  const { block, timestamp } = snapshot;
  beforeAll(async () => {
    await index.playTo(block);
    await stored.store(index);
  });

  test("the lifecycle of each action is the one in force", async () => {
    const states = new Map(
      snapshot.authority.map((one) => {
        const state = stateOf(snapshot, one);
        return [state.node, state];
      }),
    );
    for (const { action, name } of await everyAction(timestamp)) {
      const { node, expiresAt, version, reserved } = action.registrationLifecycle;
      const state = states.get(node);
      expect({ version, reserved }, name).toEqual({
        version: state?.version,
        reserved: state?.reserved ?? false,
      });
      if (state?.expiresAt !== undefined) expect(expiresAt, name).toBe(state.expiresAt);
      expect(namehash(name), name).toBe(node);
    }
  });

  test("tokens are those that were minted; the generation in force says who controls the name", async () => {
    const mints = parseEventLogs({ abi: transfers, logs: logsOf(ETHRegistry, block) }).filter(
      ({ args: { from } }) => from === zeroAddress,
    );
    const ask = open(timestamp);
    for (const one of snapshot.authority) {
      const { node, entry, version, reserved, expiresAt } = stateOf(snapshot, one);
      const storageId = keccak256(hexToBytes(one.raw)).slice(2, 58);
      const ids = mints
        .map(({ args: { id } }) => id.toString(16).padStart(64, "0"))
        .filter((id) => id.startsWith(storageId));
      const { status, body } = await ask(`/api/name-tokens?domainId=${node}`);
      if (ids.length === 0 && one.v1 === null) {
        expect(status, one.label).toBe(404);
        continue;
      }
      expect(status, one.label).toBe(200);
      const { tokens, ...rest } = body.registeredNameTokens as { tokens: Token[] };
      expect(rest, one.label).toMatchObject({
        ...(version === undefined ? {} : { version, expiresAt, isExpired: (expiresAt ?? 0) <= timestamp }),
        reserved,
      });
      const ofV2 = tokens.filter(({ token }) => token.contract.address === ETHRegistry);
      const expected = ids.map((id) => {
        const isHeld = `0x${id}` === entry?.tokenId && entry.latestOwner !== zeroAddress;
        return [`0x${id}`, isHeld ? entry.latestOwner : zeroAddress, isHeld ? "minted" : "burned"];
      });
      expect(
        ofV2.map(({ token, ownership, mintStatus }) => [token.tokenId, ownership.owner.address, mintStatus]),
        one.label,
      ).toEqual(expected);
      const ofRegistrar = tokens.find(({ token }) => token.contract.address === BaseRegistrar);
      if (one.v1?.holder) expect(ofRegistrar?.ownership.owner.address, one.label).toBe(one.v1.holder);
      const controlling = tokens
        .filter(({ ownership }) => ownership.ownershipType === "fully-onchain")
        .map(({ token }) => token.contract.address === ETHRegistry);
      // Once a token in the Graveyard has expired, the first generation has no owner for it.
      const isInGraveyard = ofRegistrar?.ownership.owner.address === Graveyard;
      if (version === "v2" || (version === "v1" && one.v1 !== null && !isInGraveyard))
        expect(controlling, one.label).toEqual([version === "v2"]);
      else
        expect(
          controlling.filter((isV2) => isV2),
          one.label,
        ).toEqual([]);
    }
  });
});

describe("at the last block", () => {
  const last = readTruth().at(-1);
  const time = last?.timestamp ?? 0;

  test("actions are listed newest first, with the prices and referrers that were announced", async () => {
    const found = (await everyAction(time)).map(({ action }) => action);
    expect(found.map(({ id }) => id)).toEqual(
      found
        .map(({ id }) => id)
        .sort()
        .reverse(),
    );
    const byPlace = Map.groupBy(found, (one) => `${one.transactionHash} ${one.registrationLifecycle.node}`);
    const logs = [ETHRegistrar, ETHRenewerV1].flatMap((address) => logsOf(address, last?.block ?? 0));
    const announced = parseEventLogs({ abi: sales, logs });
    expect(announced.length).toBeGreaterThan(300);
    for (const { args, address, eventName, data, transactionHash } of announced) {
      const [base, premium] = "base" in args ? [args.base, args.premium] : [args.amount, 0n];
      expect(byPlace.get(`${transactionHash} ${nodeOfSale({ data })}`)).toContainEqual(
        expect.objectContaining({
          version: address === ETHRegistrar ? "v2" : "v1",
          type: eventName === "NameRegistered" ? "registration" : "renewal",
          pricing: pricing(base, premium, args.paymentToken),
          referral: expect.objectContaining({ encodedReferrer: args.referrer }),
        }),
      );
    }
  });

  test("a top level domain has a token", async () => {
    const { body } = await open(time)("/api/name-tokens?name=eth");
    expect(body.registeredNameTokens).toMatchObject({ version: "v2", isExpired: false });
  });

  test("an expired name says so, and nobody controls it", async () => {
    const { body } = await open(time)("/api/name-tokens?name=atend.eth");
    const { tokens, version, isExpired } = body.registeredNameTokens;
    expect([version, isExpired]).toEqual([undefined, true]);
    expect((tokens as Token[]).map(({ ownership }) => ownership.ownershipType)).not.toContain(
      "fully-onchain",
    );
  });

  test("names of any depth are found by their node", async () => {
    const ask = open(time);
    let seen = 0;
    for (const { name, labels, registry, exists, owner } of last?.names ?? []) {
      if (labels.length < 3 || exists !== 2 || name.includes("[")) continue;
      const node = labels
        .map((raw) => keccak256(hexToBytes(raw)))
        .reduceRight<Hex>((parent, hash) => subnode(parent, hash), rootNode);
      const { status, body } = await ask(`/api/name-tokens?domainId=${node}`);
      const isHostile = registry === null || last?.registries[registry]?.hostile;
      if (status === 404 && (isHostile || name.includes("liar") || name.includes("trap"))) continue;
      seen += 1;
      const { tokens, ...rest } = body.registeredNameTokens as { tokens: Token[] };
      expect(rest, name).toMatchObject({ domainId: node, name, version: "v2" });
      expect(tokens.at(-1), name).toMatchObject({
        token: { contract: { address: registry } },
        ownership: { ownershipType: "fully-onchain", owner: { address: owner } },
      });
      const tokenId = tokens.at(-1)?.token.tokenId ?? "0x";
      const { signal } = new AbortController();
      const nodes = await readNodesOfToken(stored.database, [v2ChainId, registry ?? "0x", tokenId], signal);
      expect(nodes, name).toContain(node);
    }
    expect(seen).toBeGreaterThan(50);
  });

  test("one name under two parents is one token", async () => {
    const ask = open(time);
    const tokensOf = async (name: string) =>
      (await ask(`/api/name-tokens?name=${name}`)).body.registeredNameTokens?.tokens;
    expect(await tokensOf("wallet.linked.parent.eth")).toHaveLength(1);
    // The way through sub2 expired.
    expect(await tokensOf("wallet.sub1.sub2.parent.eth")).toBeUndefined();
  });

  test.each(["silent.liar.eth", "loud.liar.eth", "x.trap.eth", "absent.test.eth"])(
    "%s has no token by the word of a registry that the factory did not deploy",
    async (name) => {
      const { status, body } = await open(time)(`/api/name-tokens?name=${name}`);
      expect(status).toBe(404);
      expect(body.error.details).toContain(
        `No registry of ENSv2 that is known to be one has a token of ${name}.`,
      );
    },
  );

  test("what the Graveyard took is no lease", async () => {
    const found = await everyAction(time, "?name=lapsed.eth");
    expect(found.every(({ action }) => action.registrationLifecycle.expiresAt < time)).toBe(true);
    const { body } = await open(time)("/api/name-tokens?name=lapsed.eth");
    expect(body.registeredNameTokens).toMatchObject({ isExpired: true });
    expect(body.registeredNameTokens.tokens).toMatchObject([
      { ownership: { ownershipType: "unknown", owner: { address: Graveyard } } },
    ]);
  });

  test("without the plugin, answers have nothing of ENSv2", async () => {
    const ask = open(time, ["subgraph", "registrars", "tokenscope"]);
    const { body } = await ask("/api/name-tokens?name=migrateme.eth");
    expect(Object.keys(body.registeredNameTokens)).toEqual([
      "domainId",
      "name",
      "tokens",
      "expiresAt",
      "accurateAsOf",
    ]);
    const actions = await ask("/api/registrar-actions?name=migrateme.eth");
    expect(actions.body.registrarActions[0].action).not.toHaveProperty("version");
  });
});

test("what resources of resolvers stand for follows from the contracts' formulas", async () => {
  // The node-keyed generation hashes node and part (zero for the name itself), the other one the argument.
  const { v2Resource } = await import("../../schema/ensv2.ts");
  const rows = index.store.rows(v2Resource) as (typeof v2Resource.$inferSelect)[];
  expect(rows.length).toBeGreaterThan(15);
  for (const { resource, node, kind, key } of rows) {
    const part = kind === "text" ? keccak256(hexToBytes(key as Hex)) : (`0x${"0".repeat(64)}` as Hex);
    const expected =
      node === null
        ? keccak256(hexToBytes(key as Hex))
        : keccak256(
            hexToBytes(encodeAbiParameters([{ type: "bytes32" }, { type: "bytes32" }], [node, part])),
          );
    expect(resource).toBe(expected);
  }
});
