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
import type { NameRow } from "../../read/names/rows.ts";

const { get, open, store, setRecords } = await createStoredNames();

const signer = privateKeyToAccount(generatePrivateKey());
const account = signer.address.toLowerCase() as Hex;
const node = namehash("agent-owner.eth");
const listing = "accounts[1]";
const proofKey = buildProofKey(1, account);
const path = "/v1/names/agent-owner.eth/accounts";
const other = `0x${"0b".repeat(20)}`;
const expiresAt = BigInt(now + 86_400);
const signature = await signer.sign({
  hash: hashConsent({ node, chainId: 1, account, expiresAt, recordsChainId: 1 }),
});
const records = {
  [listing]: `0x${[account, other].map((one) => one.slice(2).padStart(64, "0")).join("")}`,
  [proofKey]: encodeAbiParameters([{ type: "uint256" }, { type: "bytes" }], [expiresAt, signature]),
  context: "0x01",
} as const;
const lease = { holder: bob, expires: later };
await store("agent-owner.eth", { owner: bob, lease, resolver: publicResolver });
await setRecords("agent-owner.eth", { data: records });

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
  const chain = chainWith(records);
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

test("a name claims 32 accounts at most", async () => {
  const proofs = Array.from({ length: 40 }, (_, at) =>
    buildProofKey(1, `0x${(at + 1).toString(16).padStart(40, "0")}`),
  );
  await store("many.eth", { owner: bob, lease, resolver: publicResolver });
  await setRecords("many.eth", {
    data: Object.fromEntries([listing, ...proofs].map((key) => [key, "0x01"])),
  });
  expect((await get<{ accounts: unknown[] }>("/v1/names/many.eth/accounts")).data.accounts).toHaveLength(32);
});

test("a name without such records has none, and an index without records none at all", async () => {
  expect((await get<{ accounts: unknown[] }>("/v1/names/plain.eth/accounts")).data.accounts).toEqual([]);
  expect((await get("/v1/names/nobody.eth/accounts")).status).toBe(404);
  expect((await open({ hasRecords: false }).ask(path)).status).toBe(422);
});

test("the names that claim an account, of those that are in force", async () => {
  const claiming = async (address: string, query = "") =>
    (await get<NameRow[]>(`/v1/addresses/${address}/names?relation=owned_account${query}`)).data;
  const row = { name: "agent-owner.eth", owner: bob, relations: ["owned_account"], is_primary: false };
  expect(await claiming(account)).toMatchObject([row]);
  expect(await claiming(account, "&status=active&q=agent&sort=expires_at&include=counts")).toMatchObject([
    row,
  ]);
  expect(await claiming(account, "&parent=plain.eth")).toEqual([]);
  // A list alone is on the chain only.
  expect(await claiming(other)).toEqual([]);
  // Records of a resolver that is not the name's claim nothing.
  await store("moved.eth", { owner: bob, lease, resolver: "0x00000000000000000000000000000000000000cc" });
  await setRecords("moved.eth", { data: { [proofKey]: "0x02" } });
  expect(await claiming(account)).toMatchObject([row]);
  const refused = await open({ hasRecords: false }).ask(
    `/v1/addresses/${account}/names?relation=owned_account`,
  );
  expect(refused.status).toBe(422);
});
