import { expect, test } from "vitest";
import { namespaces } from "./datasources.ts";
import { managedNameOf, managedNames } from "./managed-names.ts";

test("Sepolia's Base names end in basetest.eth", () => {
  expect(managedNameOf(namespaces.sepolia, "basenames")).toEqual({
    name: "basetest.eth",
    node: "0x646204f07e7fcd394a508306bf1148a1e13d14287fa33839bf9ad63755f547c6",
  });
});

test("only deployments with a registrar manage a name", () => {
  expect(Object.keys(managedNames(namespaces.mainnet))).toEqual(["ensroot", "basenames", "lineanames"]);
  expect(() => managedNameOf(namespaces.mainnet, "seaport")).toThrow('"seaport" manages no name');
});
