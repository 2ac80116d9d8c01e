import { decodeFunctionData, encodeAbiParameters, encodeFunctionResult, type Hex, namehash } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect, test } from "vitest";
import { resolverReadAbi, universalResolverAbi } from "../../../abis/resolver.ts";
import { chainOf } from "../../../test/support/endpoints.ts";
import {
  bob,
  createStoredNames,
  later,
  now,
  publicResolver,
} from "../../../test/support/lookups/stored-names.ts";
import { buildProofKey, hashConsent } from "../../ens/owned-accounts.ts";

const { get, open, store, setRecords } = await createStoredNames();

const signer = privateKeyToAccount(generatePrivateKey());
const account = signer.address.toLowerCase() as Hex;
const node = namehash("agent-owner.eth");
const listing = "accounts[1]";
const proofKey = buildProofKey(1, account);
const path = "/v1/names/agent-owner.eth/accounts";
const lease = { holder: bob, expires: later };
await store("agent-owner.eth", { owner: bob, lease, resolver: publicResolver });
await setRecords("agent-owner.eth", { data: [listing, proofKey, "context"] });

// The universal resolver and a resolver whose data records are given; no account has code.
function chainWith(records: Readonly<Record<string, Hex>>) {
  return chainOf(({ data }) => {
    if (data === undefined) return "0x";
    const abi = [...universalResolverAbi, ...resolverReadAbi];
    const { functionName, args } = decodeFunctionData({ abi, data });
    if (functionName === "findResolver")
      return encodeFunctionResult({ abi, functionName, result: [publicResolver as Hex, node, 0n] });
    if (functionName === "supportsInterface")
      return encodeFunctionResult({ abi, functionName, result: false });
    const [asked, key = ""] = args as readonly [Hex, string];
    expect([functionName, asked]).toEqual(["data", node]);
    return encodeFunctionResult({ abi, functionName: "data", result: records[key] ?? "0x" });
  });
}

test("the accounts that a name lists, with what their proofs say (ENSIP-28)", async () => {
  const expiresAt = BigInt(now + 86_400);
  const consent = { node, chainId: 1, account, expiresAt, recordsChainId: 1 };
  const signature = await signer.sign({ hash: hashConsent(consent) });
  const other = `0x${"0b".repeat(20)}`;
  const words = [account, other].map((one) => one.slice(2).padStart(64, "0")).join("");
  const chain = chainWith({
    [listing]: `0x${words}`,
    [proofKey]: encodeAbiParameters([{ type: "uint256" }, { type: "bytes" }], [expiresAt, signature]),
  });
  const { data, meta } = await open({ chain }).get<unknown>(path);
  expect(data).toEqual({
    namespace: "ens",
    accounts: [
      { chain_id: 1, address: account, status: "verified", expires_at: String(expiresAt) },
      { chain_id: 1, address: other, status: "unproven" },
    ],
  });
  expect(meta.source).toBe("verified");
});

test("a chain that cannot be asked leaves what the name claims", async () => {
  const { data } = await get<unknown>(path);
  expect(data).toEqual({
    namespace: "ens",
    accounts: [{ chain_id: 1, address: account, status: "unreachable" }],
    failure_reason: "Chain 1 could not be asked.",
  });
});

test("a name without such records has none, and an index without records none at all", async () => {
  expect((await get<{ accounts: unknown[] }>("/v1/names/plain.eth/accounts")).data.accounts).toEqual([]);
  expect((await get("/v1/names/nobody.eth/accounts")).status).toBe(404);
  expect((await open({ hasRecords: false }).ask(path)).status).toBe(422);
});
