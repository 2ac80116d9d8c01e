import { decodeEventLog, type Hex, namehash } from "viem";
import { describe, expect, test } from "vitest";
import { registryAbi } from "../../abis/names.ts";
import {
  basenamesBaseRegistrarAbi,
  basenamesControllerAbi,
  lineaControllerAbi,
  reverseRegistrarAbi,
} from "../../abis/registrars.ts";
import { resolverAbi } from "../../abis/resolver.ts";
import type { PlannedTransaction } from "../chain/block.ts";
import type { SecondLayer } from "./actions.ts";
import { createScenario } from "./scenario.ts";

const address = (digits: string): Hex => `0x${digits.repeat(20)}`;
const contracts = {
  registry: address("01"),
  registrar: address("02"),
  controller: address("03"),
  resolver: address("04"),
  reverseRegistrar: address("05"),
};
const base: SecondLayer = { parent: "base.eth", chainId: 8453, ...contracts };
const linea: SecondLayer = { parent: "linea.eth", chainId: 59144, ...contracts };
const now = 1_800_000_000;

const run = (layer: SecondLayer, seed: number, blocks = 200) => {
  const { next } = createScenario({ contracts: layer, seed });
  return Array.from({ length: blocks }, (_, block) => next(now + 2 * block)).flat();
};
const eventsOf = (layer: SecondLayer, { logs }: PlannedTransaction) => {
  const abis = {
    [layer.registry]: registryAbi,
    [layer.registrar]: basenamesBaseRegistrarAbi,
    [layer.controller]: layer === base ? basenamesControllerAbi : lineaControllerAbi,
    [layer.resolver]: resolverAbi,
    [layer.reverseRegistrar]: reverseRegistrarAbi,
  };
  return logs.map(({ address: emitter, topics, data }) =>
    decodeEventLog({ abi: abis[emitter] as typeof registryAbi, topics: topics as [Hex, ...Hex[]], data }),
  );
};
const namesOf = (layer: SecondLayer, transaction: PlannedTransaction) =>
  eventsOf(layer, transaction).map(({ eventName }) => eventName as string);

describe.each([
  ["base.eth", base, ["Transfer", "NewOwner", "NewResolver", "NameRegisteredWithRecord"]],
  ["linea.eth", linea, ["Transfer", "NewOwner", "NameRegistered", "NewResolver"]],
])("%s", (parent, layer, beginning) => {
  test("equal seeds give equal transactions, different seeds different ones", () => {
    const content = (seed: number) => run(layer, seed, 40);
    expect(content(1)).toEqual(content(1));
    expect(content(2)).not.toEqual(content(1));
  });

  // The order that the recorded chains have.
  test("a registration emits what the deployment's contracts emit, in their order", () => {
    const sales = run(layer, 1).filter((transaction) => namesOf(layer, transaction)[0] === "Transfer");
    expect(sales.length).toBeGreaterThan(20);
    for (const sale of sales) {
      const names = namesOf(layer, sale);
      expect(names.slice(0, 4)).toEqual(beginning);
      expect(names.at(-1)).toBe("NameRegistered");
      const created = eventsOf(layer, sale)[1]?.args as { node: Hex };
      expect(created.node).toBe(namehash(parent));
    }
  });

  test("names are renewed, get records and become primary names", () => {
    const kinds = new Set(run(layer, 3).flatMap((transaction) => namesOf(layer, transaction)));
    for (const kind of ["NameRenewed", "TextChanged", "AddressChanged", "NameForAddrChanged"])
      expect(kinds).toContain(kind);
  });
});
