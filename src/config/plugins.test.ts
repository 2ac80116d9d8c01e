import { describe, expect, test } from "vitest";
import { namespaces } from "../deployments/namespaces.ts";
import { indexedChainIds, listDatasources, missingDatasources, type PluginId, pluginIds } from "./plugins.ts";

test.each<[PluginId, keyof typeof namespaces, string[], string[]?]>([
  ["subgraph", "mainnet", ["ensroot"]],
  ["basenames", "mainnet", ["basenames"]],
  ["threedns", "mainnet", ["threednsOptimism", "threednsBase"]],
  ["registrars", "mainnet", ["ensroot", "basenames", "lineanames"]],
  [
    "tokenscope",
    "mainnet",
    ["ensroot", "seaport", "basenames", "lineanames", "threednsOptimism", "threednsBase"],
  ],
  ["tokenscope", "ens-test-env", ["ensroot"]],
  ["protocol-acceleration", "ens-test-env", ["ensroot", "rrRoot"]],
  ["threedns", "sepolia", [], ["threednsOptimism", "threednsBase"]],
  ["lineanames", "ens-test-env", [], ["lineanames"]],
])("%s on %s indexes the datasources %j, and lacks %j", (plugin, namespace, expected, missing = []) => {
  expect(listDatasources(plugin, namespaces[namespace])).toEqual(expected);
  expect(missingDatasources(plugin, namespaces[namespace])).toEqual(missing);
});

describe("indexed chains", () => {
  test("all plugins on mainnet: every chain once, in the order of first occurrence", () => {
    expect(indexedChainIds(pluginIds, namespaces.mainnet)).toEqual([1, 8453, 59144, 10, 42161, 534352]);
  });

  test("the plugins of Sepolia", () => {
    const active: PluginId[] = ["subgraph", "basenames", "lineanames", "protocol-acceleration", "registrars"];
    expect(indexedChainIds(active, namespaces.sepolia)).toEqual([
      11155111, 84532, 59141, 11155420, 421614, 534351,
    ]);
  });

  test("the configured order of the plugins counts", () => {
    expect(indexedChainIds(["threedns", "subgraph"], namespaces.mainnet)).toEqual([10, 8453, 1]);
  });
});
