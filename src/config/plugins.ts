import type { Namespace } from "../datasources/datasources.ts";

/** All plugins, in the order in which their handlers see one log. */
export const pluginIds = [
  "subgraph",
  "basenames",
  "lineanames",
  "threedns",
  "protocol-acceleration",
  "registrars",
  "tokenscope",
] as const;

export type PluginId = (typeof pluginIds)[number];

type Plugin = {
  /** Datasources without which the plugin makes no sense. */
  requires: readonly string[];
  /** Datasources that it indexes too where the namespace has them. */
  uses: readonly string[];
};

// `registrars` and `tokenscope` index whatever there is, so that networks without the other chains can have them too.
const plugins: Record<PluginId, Plugin> = {
  subgraph: { requires: ["ensroot"], uses: [] },
  basenames: { requires: ["basenames"], uses: [] },
  lineanames: { requires: ["lineanames"], uses: [] },
  threedns: { requires: ["threednsOptimism", "threednsBase"], uses: [] },
  "protocol-acceleration": {
    requires: ["ensroot"],
    uses: [
      "basenames",
      "lineanames",
      "threednsOptimism",
      "threednsBase",
      "rrRoot",
      "rrBase",
      "rrLinea",
      "rrOptimism",
      "rrArbitrum",
      "rrScroll",
    ],
  },
  registrars: { requires: ["ensroot"], uses: ["basenames", "lineanames"] },
  tokenscope: {
    requires: ["ensroot"],
    uses: ["seaport", "basenames", "lineanames", "threednsOptimism", "threednsBase"],
  },
};

/** Datasources that a plugin indexes in a namespace, in the plugin's order. */
export function datasourcesOf(plugin: PluginId, namespace: Namespace): string[] {
  const { requires, uses } = plugins[plugin];
  return [...requires, ...uses].filter((id) => namespace[id] !== undefined);
}

/** Required datasources that the namespace lacks. */
export function missingDatasources(plugin: PluginId, namespace: Namespace): string[] {
  return plugins[plugin].requires.filter((id) => namespace[id] === undefined);
}

/** Ids of all chains that the plugins index: plugin by plugin, datasource by datasource, at first occurrence. */
export function indexedChainIds(active: readonly PluginId[], namespace: Namespace): number[] {
  const chainIds = active.flatMap((plugin) =>
    datasourcesOf(plugin, namespace).flatMap((id) => namespace[id]?.chainId ?? []),
  );
  return [...new Set(chainIds)];
}
