import { expect, test } from "vitest";
import { parseEnvironment } from "./environment.ts";
import { listChanges, rowSettings, toEnvironment } from "./row-settings.ts";

const file = '{ "mainnet": {} }';
const base = {
  NAMESPACE: "mainnet",
  PLUGINS: "subgraph,registrars",
  LABELS_URL: "http://localhost:3223",
  RPC_URL_1: "https://rpc.example/1",
  RPC_URL_8453: "https://rpc.example/8453",
  RPC_URL_59144: "https://rpc.example/59144",
};
const settingsOf = (changes: Record<string, string>, text = file) =>
  rowSettings(parseEnvironment({ ...base, ...changes }, () => text));

test.each([
  [{ LABEL_SET_VERSION: "1" }, ["LABEL_SET_VERSION changed from 0 to 1"]],
  [{ PLUGINS: "registrars" }, ["PLUGINS changed from subgraph,registrars to registrars"]],
  [
    { PLUGINS: "subgraph", SUBGRAPH_COMPAT: "true", END_BLOCK: "5000000" },
    [
      "PLUGINS changed from subgraph,registrars to subgraph",
      "SUBGRAPH_COMPAT changed from false to true",
      "END_BLOCK changed from unset to 5000000",
    ],
  ],
  [{ DATASOURCES_FILE: "a.json" }, ["the contents of DATASOURCES_FILE changed"]],
  [{ PLUGINS: "registrars,subgraph", LABELS_URL: "file:x", PORT: "1", LOG_LEVEL: "warn" }, []],
])("names what changes rows of %j, and nothing else", (changes, found) => {
  expect(listChanges(settingsOf({}), settingsOf(changes))).toEqual(found);
});

test("spaces in DATASOURCES_FILE change nothing", () => {
  const one = settingsOf({ DATASOURCES_FILE: "a.json" });
  expect(listChanges(one, settingsOf({ DATASOURCES_FILE: "b.json" }, '{"mainnet":{}}'))).toEqual([]);
});

test("a reader takes the settings of the index, and all others from its environment", () => {
  const settings = settingsOf({ PLUGINS: "subgraph", END_BLOCK: "5000000", DATASOURCES_FILE: "a.json" });
  const reader = {
    ...base,
    PORT: "42070",
    START_BLOCK: "7",
    DATASOURCES_FILE: "its-own.json",
    WEBHOOKS_FILE: "hooks.json",
  };
  const { environment, readTextFile } = toEnvironment(settings, reader);
  const config = parseEnvironment(environment, readTextFile);
  expect(config).toMatchObject({ plugins: ["subgraph"], port: 42_070, datasourcesText: file, webhooks: [] });
  expect(config.blockRange).toEqual({ startBlock: undefined, endBlock: 5_000_000 });
  expect(rowSettings(config)).toEqual(settings);
});
