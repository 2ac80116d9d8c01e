import { decodeEventLog, type Hex, parseAbi } from "viem";
import { expect, test } from "vitest";
import { nameWrapperAbi, registryAbi } from "../../abis/names.ts";
import { baseRegistrarAbi, unwrappedControllerAbi } from "../../abis/registrars.ts";
import { resolverAbi } from "../../abis/resolver.ts";
import type { PlannedTransaction } from "../chain/block.ts";
import { readAddresses } from "../recording.ts";
import type { Contracts } from "./actions.ts";
import { createScenario } from "./scenario.ts";

const contracts = readAddresses(new URL("../recording/a", import.meta.url).pathname) as Contracts;
const now = 1_800_000_000;
const approvalForAll = "event ApprovalForAll(address indexed owner, address indexed operator, bool approved)";
const abiOf = new Map<string, readonly unknown[]>([
  [contracts.ENSv1Registry, registryAbi],
  [contracts.BaseRegistrar, [...baseRegistrarAbi, ...parseAbi([approvalForAll])]],
  [contracts.UnwrappedEthRegistrarController, unwrappedControllerAbi],
  [contracts.PublicResolverV5, resolverAbi],
  [contracts.NameWrapper, nameWrapperAbi],
]);

const run = (seed: number, blocks: number) => {
  const scenario = createScenario({ contracts, seed });
  return Array.from({ length: blocks }, (_, block) => scenario.next(now + 2 * block)).flat();
};
const events = ({ logs }: PlannedTransaction) =>
  logs.map(({ address, topics, data }) => {
    const abi = abiOf.get(address);
    if (abi === undefined) return { eventName: "reverse", args: {} };
    return decodeEventLog({ abi: abi as typeof registryAbi, topics: topics as [Hex, ...Hex[]], data });
  });

test("equal seeds give equal transactions, different seeds different ones", () => {
  expect(run(1, 30)).toEqual(run(1, 30));
  expect(run(2, 30)).not.toEqual(run(1, 30));
});

test("within ten minutes of blocks every kind of sequence occurs", () => {
  const kinds = new Set(
    run(1, 300).flatMap((transaction) => events(transaction).map(({ eventName }) => eventName)),
  );
  expect(kinds).toEqual(
    new Set([
      "NameRegistered",
      "NameRenewed",
      "TextChanged",
      "ContenthashChanged",
      "AddressChanged",
      "AddrChanged",
      "NewOwner",
      "NewResolver",
      "NameChanged",
      "reverse",
      "TransferSingle",
      "NameWrapped",
      "ApprovalForAll",
      "Transfer",
    ]),
  );
});

test.each([1, 2, 3])("no name is registered twice and none is used before it exists (seed %i)", (seed) => {
  const owners = new Map<bigint, string>();
  const resolvers = new Set<string>();
  for (const transaction of run(seed, 300)) {
    for (const { eventName, args } of events(transaction) as {
      eventName: string;
      args: Record<string, never>;
    }[]) {
      if (eventName === "Transfer" && "tokenId" in args) {
        if (BigInt(args["from"]!) === 0n) expect(owners.has(args["tokenId"]!)).toBe(false);
        else expect(owners.get(args["tokenId"]!)).toBe(args["from"]);
        owners.set(args["tokenId"]!, args["to"]!);
      }
      if (eventName === "NewResolver") resolvers.add(args["node"]!);
      if (["TextChanged", "AddressChanged", "ContenthashChanged"].includes(eventName)) {
        expect(resolvers.has(args["node"]!)).toBe(true);
      }
    }
  }
  expect(owners.size).toBeGreaterThan(50);
});

test("a name can be registered with a given label and owner", () => {
  const scenario = createScenario({ contracts, seed: 1 });
  const [transaction] = scenario.registerName(now, { label: "alice", owner: 2, plain: true });
  expect(events(transaction!).at(-1)).toMatchObject({
    eventName: "NameRegistered",
    args: { label: "alice" },
  });
  expect(transaction!.from).toBe(scenario.addresses[2]);
});
