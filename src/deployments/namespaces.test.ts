import { expect, test } from "vitest";
import { managedNameOf, namespaces } from "./namespaces.ts";

test("Sepolia's Base names end in basetest.eth", () => {
  expect(managedNameOf(namespaces.sepolia, "basenames")).toEqual({
    name: "basetest.eth",
    node: "0x646204f07e7fcd394a508306bf1148a1e13d14287fa33839bf9ad63755f547c6",
  });
});

test("only deployments with a registrar manage a name", () => {
  const managed = Object.entries(namespaces.mainnet).flatMap(([id, { managedName }]) =>
    managedName ? [id] : [],
  );
  expect(managed).toEqual(["ensroot", "basenames", "lineanames"]);
  expect(() => managedNameOf(namespaces.mainnet, "seaport")).toThrow('"seaport" manages no name');
});

test("a deployment's resolvers on the root chain are contracts of the root datasource", () => {
  expect(namespaces.mainnet["ensroot"]?.contracts["LineanamesL1Resolver2"]).toEqual({
    address: "0x1507ce9421232fdbd302f5ebe4590f8d77febbff",
    startBlock: 24_640_923,
  });
});
