import { describe, expect, test } from "vitest";
import { namespaces } from "../deployments/namespaces.ts";
import { datasourcesOf, indexedChainIds, missingDatasources, type PluginId, pluginIds } from "./plugins.ts";

describe("datasources of a plugin", () => {
  test.each<[PluginId, string[]]>([
    ["subgraph", ["ensroot"]],
    ["basenames", ["basenames"]],
    ["lineanames", ["lineanames"]],
    ["threedns", ["threednsOptimism", "threednsBase"]],
    ["registrars", ["ensroot", "basenames", "lineanames"]],
    ["tokenscope", ["ensroot", "seaport", "basenames", "lineanames", "threednsOptimism", "threednsBase"]],
  ])("%s on mainnet", (plugin, expected) => {
    expect(datasourcesOf(plugin, namespaces.mainnet)).toEqual(expected);
    expect(missingDatasources(plugin, namespaces.mainnet)).toEqual([]);
  });

  test.each<[PluginId, string[]]>([
    ["registrars", ["ensroot"]],
    ["tokenscope", ["ensroot"]],
    ["protocol-acceleration", ["ensroot", "rrRoot"]],
  ])("%s uses what the test network has", (plugin, expected) => {
    expect(datasourcesOf(plugin, namespaces["ens-test-env"])).toEqual(expected);
    expect(missingDatasources(plugin, namespaces["ens-test-env"])).toEqual([]);
  });
});

describe("required datasources that a namespace lacks", () => {
  test("3DNS is not on Sepolia", () => {
    expect(missingDatasources("threedns", namespaces.sepolia)).toEqual(["threednsOptimism", "threednsBase"]);
  });

  test.each<[PluginId, string[]]>([
    ["basenames", ["basenames"]],
    ["lineanames", ["lineanames"]],
  ])("%s is not on the test network", (plugin, expected) => {
    expect(missingDatasources(plugin, namespaces["ens-test-env"])).toEqual(expected);
  });
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
