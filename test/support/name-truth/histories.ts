import { type Hex, labelhash, namehash, toHex } from "viem";
import { packetToBytes } from "viem/ens";
import type { TruthChain } from "./chain.ts";
import { start } from "./truth.ts";

// Each name is a short history; all of them happen on one chain, and moments are between their steps.

const account = (digit: number): Hex => `0x${String(digit).repeat(40)}`;
/** Who acts. */
export const people = { alice: account(1), bob: account(2), carol: account(3) };
const { alice, bob, carol } = people;
const nobody = account(0);
const root: Hex = `0x${"0".repeat(64)}`;

const day = 86_400;
const year = 365 * day;
const grace = 90 * day;
const [cannotUnwrap, cannotSetResolver, parentCannotControl, canExtendExpiry] = [1, 8, 65_536, 262_144];

/** Names under .eth; each is known by one of the labels. */
export const names = [
  "plain.eth",
  "sold.eth",
  "reclaimed.eth",
  "ownerless.eth",
  "stuck.eth",
  "renewed.eth",
  "wrapped.eth",
  "late.eth",
  "sent.eth",
  "given.eth",
  "unwrapped.eth",
  "locked.eth",
  "fixed.eth",
  "lagging.eth",
  "rescued.eth",
  "anew.eth",
  "anewwrapped.eth",
  "anewplain.eth",
  "nowwrapped.eth",
  "records.eth",
  "child.plain.eth",
  "removed.plain.eth",
  "wild.plain.eth",
  "moved.plain.eth",
  "back.plain.eth",
  "soft.locked.eth",
  "free.locked.eth",
  "hard.locked.eth",
  "extended.locked.eth",
  "deleted.locked.eth",
  "loose.locked.eth",
  "old.free.locked.eth",
  "kid.anew.eth",
  "taken.anew.eth",
  "eth",
  "xyz",
  "site.xyz",
  "legacy",
  "of.legacy",
  "moved.legacy",
] as const;

export type Mark = (title: string) => Promise<void>;

const wire = (name: string) => toHex(packetToBytes(name));

function actions(chain: TruthChain) {
  const { send, contracts, deployer } = chain;
  const id = (label: string) => BigInt(labelhash(label));
  return {
    register: (label: string, owner: Hex, duration: number) =>
      send(deployer, "registrar", "register", id(label), owner, duration),
    renew: (label: string, duration: number) => send(deployer, "registrar", "renew", id(label), duration),
    renewWrapped: (label: string, duration: number) => send(deployer, "controller", "renew", label, duration),
    wrapNew: (label: string, owner: Hex, duration: number, fuses = 0) =>
      send(deployer, "wrapper", "registerAndWrapETH2LD", label, owner, duration, contracts.resolver, fuses),
    async wrap(label: string, owner: Hex) {
      await send(owner, "registrar", "setApprovalForAll", contracts.wrapper, true);
      await send(owner, "wrapper", "wrapETH2LD", label, owner, 0, nobody);
    },
    child: (parent: string, label: string, by: Hex, owner: Hex) =>
      send(by, "registry", "setSubnodeOwner", namehash(parent), labelhash(label), owner),
    wrapChild: async (name: string, owner: Hex) => {
      await send(owner, "registry", "setApprovalForAll", contracts.wrapper, true);
      await send(owner, "wrapper", "wrap", wire(name), owner, nobody);
    },
    /** Subname through the wrapper. */
    under: (parent: string, label: string, { by, owner, fuses = 0, expires = 0 }: Under) =>
      send(by, "wrapper", "setSubnodeOwner", namehash(parent), label, owner, fuses, expires),
    id,
  };
}

type Under = { by: Hex; owner: Hex; fuses?: number; expires?: number };

/** Plays all histories; `mark` is called at each moment whose state counts. */
export async function playHistories(chain: TruthChain, mark: Mark): Promise<void> {
  await registerNames(chain);
  await mark("leases, unwrapped and wrapped");
  await makeSubnames(chain);
  await mark("subnames in the registry and the wrapper, names of the former registry");
  await setRecords(chain);
  await mark("records, primary names");
  await changeHands(chain);
  await mark("transfers, unwrapping, fuses, moves away from the wrapper");
  await expire(chain, mark);
  await registerAnew(chain, mark);
}

async function registerNames(chain: TruthChain) {
  const { register, wrapNew, wrap } = actions(chain);
  const { send, contracts, deployer } = chain;
  for (const label of ["plain", "sold", "reclaimed", "ownerless", "stuck", "renewed", "records"])
    await register(label, alice, year);
  await register("anewplain", alice, year);
  await register("nowwrapped", alice, year);
  for (const label of ["wrapped", "sent", "given", "unwrapped", "lagging", "rescued", "anew", "anewwrapped"])
    await wrapNew(label, alice, year);
  await register("late", alice, year);
  await wrap("late", alice);
  await wrapNew("locked", alice, 2 * year, cannotUnwrap);
  await wrapNew("fixed", alice, 2 * year, cannotUnwrap | cannotSetResolver);
  await send(deployer, "registry", "setSubnodeOwner", root, labelhash("xyz"), deployer);
  await send(deployer, "oldRegistry", "setSubnodeOwner", root, labelhash("legacy"), bob);
  await send(alice, "registrar", "transferFrom", alice, contracts.wrapper, actions(chain).id("stuck"));
}

async function makeSubnames(chain: TruthChain) {
  const { child, wrapChild, under } = actions(chain);
  const { send, deployer } = chain;
  for (const label of ["child", "removed"]) await child("plain.eth", label, alice, carol);
  for (const label of ["wild", "moved", "back"]) {
    await child("plain.eth", label, alice, bob);
    await wrapChild(`${label}.plain.eth`, bob);
  }
  const soon = start + 200 * day;
  const of = { by: alice, owner: bob };
  await under("locked.eth", "soft", { ...of, expires: soon });
  await under("locked.eth", "free", { ...of, fuses: parentCannotControl, expires: soon });
  await under("locked.eth", "hard", {
    ...of,
    fuses: parentCannotControl | cannotUnwrap,
    expires: soon + day,
  });
  await under("locked.eth", "extended", {
    ...of,
    fuses: parentCannotControl | canExtendExpiry,
    expires: soon,
  });
  await under("locked.eth", "deleted", of);
  await under("locked.eth", "loose", of);
  await under("free.locked.eth", "old", { by: bob, owner: carol });
  await under("anew.eth", "kid", { by: alice, owner: carol });
  await under("anew.eth", "taken", { by: alice, owner: carol, expires: soon });
  await send(deployer, "registry", "setSubnodeOwner", namehash("xyz"), labelhash("site"), carol);
  await wrapChild("site.xyz", carol);
  for (const label of ["of", "moved"])
    await send(bob, "oldRegistry", "setSubnodeOwner", namehash("legacy"), labelhash(label), carol);
}

async function setRecords(chain: TruthChain) {
  const { send, contracts } = chain;
  const node = namehash("records.eth");
  await send(alice, "registry", "setResolver", node, contracts.resolver);
  await send(alice, "resolver", "setAddr", node, alice);
  await send(alice, "resolver", "setAddr", node, 0n, "0x0014");
  await send(alice, "resolver", "setText", node, "url", "https://ens.domains");
  await send(alice, "resolver", "setContenthash", node, "0xe301");
  await send(alice, "resolver", "setText", namehash("wrapped.eth"), "url", "x");
  await send(alice, "resolver", "setAddr", namehash("wrapped.eth"), bob);
  await send(alice, "reverseRegistrar", "setName", "records.eth");
  await send(bob, "reverseRegistrar", "setName", "records.eth");
  await send(carol, "reverseRegistrar", "setName", "plain.eth");
}

async function changeHands(chain: TruthChain) {
  const { send, contracts } = chain;
  const { child, under, id } = actions(chain);
  for (const label of ["sold", "reclaimed"])
    await send(alice, "registrar", "transferFrom", alice, bob, id(label));
  await send(bob, "registrar", "reclaim", id("reclaimed"), bob);
  await send(alice, "registry", "setOwner", namehash("ownerless.eth"), nobody);
  const sent = [alice, bob, BigInt(namehash("sent.eth")), 1, "0x"];
  await send(alice, "wrapper", "safeTransferFrom", ...sent);
  await send(alice, "wrapper", "setResolver", namehash("given.eth"), nobody);
  await send(alice, "wrapper", "setFuses", namehash("given.eth"), cannotUnwrap);
  await send(alice, "wrapper", "unwrapETH2LD", labelhash("unwrapped"), carol, bob);
  await child("plain.eth", "removed", alice, nobody);
  await child("plain.eth", "moved", alice, carol);
  await child("plain.eth", "back", alice, carol);
  await send(carol, "registry", "setOwner", namehash("back.plain.eth"), contracts.wrapper);
  await under("locked.eth", "deleted", { by: alice, owner: nobody });
  await send(bob, "wrapper", "unwrap", namehash("locked.eth"), labelhash("loose"), carol);
  const later = start + 300 * day;
  await send(bob, "wrapper", "extendExpiry", namehash("locked.eth"), labelhash("extended"), later);
  const { deployer } = chain;
  await send(deployer, "registry", "setSubnodeOwner", root, labelhash("legacy"), bob);
  await send(bob, "registry", "setSubnodeOwner", namehash("legacy"), labelhash("moved"), alice);
  const node = namehash("records.eth");
  await send(alice, "resolver", "setText", node, "url", "");
  await send(alice, "resolver", "setContenthash", node, "0x");
  await send(alice, "resolver", "setAddr", node, 0n, "0x");
  await send(alice, "resolver", "setAddr", node, nobody);
  await send(carol, "reverseRegistrar", "setName", "");
}

async function expire(chain: TruthChain, mark: Mark) {
  const { renew, renewWrapped } = actions(chain);
  const endOf = async (label: string) =>
    Number(await chain.call("registrar", "nameExpires", [actions(chain).id(label)]));
  const soon = start + 200 * day;
  for (const [time, title] of [
    [soon, "the last second of emancipated subnames"],
    [soon + 1, "emancipated subnames lapsed"],
  ] as const) {
    await chain.goTo(time);
    await mark(title);
  }
  await renew("renewed", year);
  await renew("lagging", year);
  await renew("rescued", year);
  await renewWrapped("sold", 30 * day);
  await chain.send(alice, "resolver", "setAddr", namehash("records.eth"), bob);
  const [plain, wrapped] = [await endOf("plain"), await endOf("wrapped")];
  for (const [time, title] of [
    [plain - 1, "the last second of a lease"],
    [plain, "the first second after a lease"],
    [wrapped + 1, "wrapped leases in grace"],
  ] as const) {
    await chain.goTo(time);
    await mark(title);
  }
  await renew("late", year);
  await renewWrapped("given", year);
  await chain.send(alice, "resolver", "setAddr", namehash("records.eth"), alice);
  await mark("renewed in grace, by the registrar alone and through the wrapper");
  for (const [time, title] of [
    [plain + grace, "the last second of the grace period"],
    [plain + grace + 1, "released"],
    [wrapped + grace + 1, "wrapped leases released, wrapper entries lapsed"],
    [wrapped + grace + day, "renewed leases whose wrapper entry lapsed"],
  ] as const) {
    await chain.goTo(time);
    await mark(title);
  }
  await renewWrapped("rescued", 30 * day);
  await mark("a lapsed wrapper entry brought back by a renewal through the wrapper");
}

async function registerAnew(chain: TruthChain, mark: Mark) {
  const { register, wrapNew, renewWrapped, wrap, child, under } = actions(chain);
  const { send } = chain;
  await register("anew", bob, year);
  await register("anewplain", bob, year);
  await wrapNew("anewwrapped", bob, year);
  await register("nowwrapped", carol, year);
  await wrap("nowwrapped", carol);
  await renewWrapped("anew", 30 * day);
  await mark("registered anew, unwrapped and wrapped");
  await child("anew.eth", "taken", bob, bob);
  await under("locked.eth", "free", { by: alice, owner: carol });
  await send(alice, "wrapper", "setResolver", namehash("locked.eth"), nobody);
  await mark("a new holder takes a subname over, a parent a lapsed one");
  await chain.goTo(start + 5 * year);
  await mark("all leases released");
}
