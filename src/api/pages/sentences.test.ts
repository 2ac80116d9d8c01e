import { expect, test } from "vitest";
import { createFrame } from "./frame.ts";
import { activityList, type Entry } from "./sentences.ts";

const [node, registry] = [`0x${"ab".repeat(32)}`, `0x${"5e".repeat(20)}`];
const [alice, bob, nobody] = [`0x${"11".repeat(20)}`, `0x${"22".repeat(20)}`, `0x${"00".repeat(20)}`];
const view = {
  frame: { ...createFrame("0.0.0", false), chains: [1] },
  now: 1_800_000_000,
  primaries: new Map([[alice, "alice.eth"]]),
};

const year = 31_536_000;
const at = (address: string) => ({ chain_id: 1, address });

// Entries newest first, each in a transaction of its own.
function told(...given: readonly (Pick<Entry, "type" | "data"> & { kind?: string })[]): string[] {
  const entries = given.map((one, index) => ({
    ...{
      id: `${index}`,
      name: "a.eth",
      namehash: node,
      namespace: "ens",
      chain_id: 1,
      registration_id: null,
    },
    ...{ block_number: 9 - index, timestamp: `${1_700_000_000 - index}`, log_index: 0 },
    transaction_hash: `0x${`${index}`.repeat(64)}`,
    ...one,
  })) as Entry[];
  const html = String(
    activityList(view, "History", { entries, actions: [], isWhole: true, hasNames: false }),
  );
  return [...html.matchAll(/<\/small><\/div><div>(.*?)<\/div><\/li>/gs)].map(([, cell = ""]) =>
    cell
      .replaceAll(/<[^>]*>/g, "")
      .replaceAll("↗", "")
      .replaceAll(/\s+/g, " ")
      .trim(),
  );
}

const text = (value: string, key = "text:url") => ({
  type: "record" as const,
  data: { action: "record_changed", key, value, resolver: at(registry) },
});

test("records are set, changed, set again and cleared, in different words", () => {
  expect(told(text(""), text("b"), text("b"), text("a"), text("x", "text:com.github"))).toEqual([
    "Website cleared, was b",
    "Website set to b again",
    "Website changed from a to b",
    "Website set to a",
    "GitHub set to x",
  ]);
});

test("a record that was cleared with all others, or at another resolver, has no former value", () => {
  const all = { type: "record" as const, data: { action: "record_version_changed", resolver: at(registry) } };
  expect(told(text("b"), all, text("a"))).toEqual([
    "Website set to b",
    "All records cleared",
    "Website set to a",
  ]);
  const elsewhere = { ...text("a"), data: { ...text("a").data, resolver: at(alice) } };
  expect(told(text("b"), elsewhere)).toEqual(["Website set to b", "Website set to a"]);
});

test("leases tell how long they are, for whom and for how much, accounts their verified names", () => {
  const registered = {
    action: "registration_granted",
    registrant: alice,
    expires_at: "1700000000",
    cost: "5000000000000000",
  };
  const renewed = {
    action: "registration_renewed",
    expires_at: `${1_700_000_000 + 2 * year}`,
    cost: "10600000000000000",
  };
  expect(
    told(
      { type: "release", data: {} },
      { type: "renewal", data: renewed },
      { type: "registration", data: registered },
    ),
  ).toEqual([
    "Released: nobody renewed it in its grace period",
    "Renewed for 2 years for 0.0106 ETH, until 13 Nov 2025",
    "Registered to alice.eth for 0.005 ETH, until 14 Nov 2023",
  ]);
});

test("owners, resolvers, tokens, fuses, roles and primary names", () => {
  const power = { address: bob, added_powers: ["set_resolver"], removed_powers: ["admin_renew"] };
  expect(
    told(
      { type: "resolver", data: { action: "resolver_changed" } },
      { type: "resolver", data: { action: "resolver_changed", resolver: at(registry) } },
      { type: "transfer", data: { action: "token_transferred", from: alice, to: bob } },
      { type: "transfer", data: { action: "token_transferred", from: nobody, to: bob } },
      { type: "permission", kind: "FusesSet", data: { fuses: 0x10001 } },
      { type: "permission", kind: "EACRolesChanged", data: power },
      { type: "primary_name", data: { address: bob, coin_type: 2_147_492_101, name: "b.eth" } },
      { type: "primary_name", data: { address: bob, coin_type: 60 } },
      { type: "authority", data: { action: "authority_changed", owner: bob } },
      { type: "authority", data: { action: "authority_changed", owner: alice } },
    ),
  ).toEqual([
    "Resolver cleared, was 0x5e5e…5e5e",
    "Resolver set to 0x5e5e…5e5e",
    "Token transferred from alice.eth to 0x2222…2222",
    "Token minted for 0x2222…2222",
    "Fuses burned: cannot unwrap, parent cannot control",
    "0x2222…2222 received the roles set resolver; lost grant renew",
    "Primary name of 0x2222…2222 on Base set to b.eth",
    "Primary name of 0x2222…2222 cleared",
    "Owner in the registry changed from alice.eth to 0x2222…2222",
    "Owner in the registry set to alice.eth",
  ]);
});
