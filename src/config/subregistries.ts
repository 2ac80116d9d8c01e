import { type Hex, namehash } from "viem";
import type { Namespace } from "../datasources/datasources.ts";
import { accountId } from "../ens/account-ids.ts";
import type { PluginId } from "./plugins.ts";

/** A base registrar: its CAIP-10 id, the node whose subnames it hands out, and the plugin that indexes these names. */
export type Subregistry = { subregistryId: string; chainId: number; node: Hex; namesPlugin: PluginId };

const namesPlugins: Record<string, PluginId> = {
  ensroot: "subgraph",
  basenames: "basenames",
  lineanames: "lineanames",
};

/** The base registrars of a namespace that the plugin `registrars` indexes. */
export function indexedSubregistries(namespace: Namespace): Subregistry[] {
  return Object.entries(namesPlugins).flatMap(([datasourceId, namesPlugin]) => {
    const datasource = namespace[datasourceId];
    const address = datasource?.contracts["BaseRegistrar"]?.address;
    if (datasource?.managedName === undefined || address === undefined) return [];
    return [
      {
        subregistryId: accountId(datasource.chainId, address),
        chainId: datasource.chainId,
        node: namehash(datasource.managedName),
        namesPlugin,
      },
    ];
  });
}
