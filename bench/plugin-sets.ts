/** The plugins that store names. */
export const namePlugins = ["subgraph", "basenames", "lineanames", "threedns"];

/** Sets of plugins to compare: each contains the previous one, the last has all. */
export const pluginSets = [
  ["subgraph"],
  namePlugins,
  [...namePlugins, "registrars"],
  [...namePlugins, "protocol-acceleration", "registrars", "tokenscope"],
];
