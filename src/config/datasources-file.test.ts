import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { applyDatasourcesFile, knownNames } from "./datasources-file.ts";

const table = {
  ensroot: {
    chainId: 5,
    managedName: "eth",
    contracts: {
      ENSv1Registry: { address: `0x${"11".repeat(20)}`, startBlock: 10 },
      Resolver: { startBlock: 3 },
      NameWrapper: { address: `0x${"22".repeat(20)}`, startBlock: 20, endBlock: 30 },
    },
  },
} as const;

const apply = (file: unknown) => applyDatasourcesFile("test", table, JSON.stringify({ test: file }));
const other = `0x${"ab".repeat(20)}`;

test("replaces what it names and keeps the rest", () => {
  const { ensroot } = apply({
    ensroot: { 5: { contracts: { ENSv1Registry: { address: other.toUpperCase().replace("0X", "0x") } } } },
  });
  expect(ensroot?.contracts).toEqual({
    ...table.ensroot.contracts,
    ENSv1Registry: { address: other, startBlock: 10 },
  });
});

test("removes an end block with null", () => {
  const { ensroot } = apply({ ensroot: { 5: { contracts: { NameWrapper: { endBlock: null } } } } });
  expect(ensroot?.contracts["NameWrapper"]).toEqual({ address: `0x${"22".repeat(20)}`, startBlock: 20 });
});

test.each([null, `0x${"0".repeat(40)}`])("an address of %j means not deployed", (address) => {
  const { ensroot } = apply({ ensroot: { 5: { contracts: { NameWrapper: { address } } } } });
  expect(Object.keys(ensroot?.contracts ?? {})).toEqual(["ENSv1Registry", "Resolver"]);
});

test("a resolver without address still matches any address", () => {
  const { ensroot } = apply({
    ensroot: { 5: { contracts: { Resolver: { address: null, startBlock: 8 } } } },
  });
  expect(ensroot?.contracts["Resolver"]).toEqual({ startBlock: 8 });
});

test("a datasource on another chain fully replaces the table's", () => {
  const { ensroot } = apply({ ensroot: { 6: { contracts: { ENSv1Registry: { address: other } } } } });
  expect(ensroot).toEqual({
    chainId: 6,
    managedName: "eth",
    contracts: { ENSv1Registry: { address: other, startBlock: 0 } },
  });
});

test("adds a datasource that the namespace lacks, with its usual parent name", () => {
  const { basenames } = apply({
    basenames: { 7: { contracts: { Registry: { address: other, startBlock: 1 } } } },
  });
  expect(basenames).toEqual({
    chainId: 7,
    managedName: "base.eth",
    contracts: { Registry: { address: other, startBlock: 1 } },
  });
});

test("other namespaces, and comments, are ignored", () => {
  const text = JSON.stringify({
    _meta: { made: "by hand" },
    elsewhere: { ensroot: { 1: { contracts: {} } } },
  });
  expect(applyDatasourcesFile("test", table, text)).toEqual(table);
});

test.each([
  [
    "an invalid address",
    { ensroot: { 5: { contracts: { ENSv1Registry: { address: "0x12" } } } } },
    "40 hex digits",
  ],
  [
    "a block before the first",
    { ensroot: { 5: { contracts: { Resolver: { startBlock: -1 } } } } },
    "startBlock",
  ],
  [
    "a new contract without address",
    { ensroot: { 5: { contracts: { Resolver: {}, Another: { startBlock: 1 } } } } },
    "Another has no address",
  ],
  [
    "two chains for one datasource",
    { ensroot: { 5: { contracts: {} }, 6: { contracts: {} } } },
    "exactly one chain",
  ],
  ["a chain by its name", { ensroot: { mainnet: { contracts: {} } } }, "chain id"],
  ["a list", [], "test"],
  [
    "values in the place of objects",
    { ensroot: 1, seaport: "0x" },
    "test.ensroot: Invalid input: expected record, received number; test.seaport:",
  ],
])("refuses %s", (_, file, part) => {
  expect(() => apply(file)).toThrow(part);
});

test("rejects text that is not JSON", () => {
  expect(() => applyDatasourcesFile("test", table, "{")).toThrow();
});

test.each([
  [{ ensrot: { 5: { contracts: {} } } }, 'unknown datasource "ensrot"; did you mean "ensroot"?'],
  [
    { ensroot: { 5: { contracts: { NameWraper: { address: other } } } } },
    'unknown contract of ensroot "NameWraper"; did you mean "NameWrapper"?',
  ],
  [
    { basenames: { 7: { contracts: { registry: { address: other } } } } },
    'unknown contract of basenames "registry"; did you mean "Registry"?',
  ],
  [
    { ensroot: { 5: { contracts: { Registry: { address: other } } } } },
    'unknown contract of ensroot "Registry"; did you mean "ENSv1RegistryOld"?',
  ],
  [
    { ensroot: { 5: { contracts: { Multicall: { address: other } } } } },
    "it names no known contract of ensroot; known are ENSv1RegistryOld, ENSv1Registry,",
  ],
  [
    { otherService: { 5: { contracts: { Registry: { address: other } } } } },
    "it names no known datasource; known are ensroot,",
  ],
])("refuses a misspelt name: %j", (file, message) => {
  expect(() => apply(file)).toThrow(message);
});

test("refuses a misspelt namespace", () => {
  const text = JSON.stringify({ mainet: { ensroot: { 1: { contracts: {} } } } });
  expect(() => applyDatasourcesFile("mainnet", table, text)).toThrow(
    'unknown namespace "mainet"; did you mean "mainnet"?',
  );
});

const registry = { ENSv1Registry: { address: other } };

test.each([
  { ensroot: { 5: { contracts: registry } }, otherService: { 5: { contracts: registry } } },
  { ensroot: { 5: { contracts: { ...registry, DefaultPublicResolver9: { address: other } } } } },
  { ensroot: { 5: { contracts: { ...registry, Multicall: { address: other } } } } },
])("accepts names of others: %j", (file) => {
  expect(() => apply(file)).not.toThrow();
});

test("docs/datasources.md lists the names that count", () => {
  const text = readFileSync(new URL("../../docs/datasources.md", import.meta.url), "utf8");
  const rows = text.matchAll(/^\| `(\w+)` \| [^|]*\| (`[^|]+`) \|$/gm);
  const listed = [...rows].map(([, id, names]) => [id, names?.replaceAll("`", "").split(", ")]);
  expect(listed).toEqual([...knownNames()]);
});
