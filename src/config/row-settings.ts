import type { Config, Environment } from "./environment.ts";
import { pluginIds } from "./plugins.ts";

/**
 * Settings that decide an index's rows, as text by variable; empty if unset. DATASOURCES_FILE is the text of the file.
 */
export type RowSettings = Readonly<Record<string, string>>;

/** The settings of a configuration that decide rows. */
export function rowSettings(config: Config): RowSettings {
  const { startBlock, endBlock } = config.blockRange;
  return {
    NAMESPACE: config.namespace,
    PLUGINS: config.plugins.join(","),
    SUBGRAPH_COMPAT: String(config.isSubgraphCompatible),
    LABEL_SET_ID: config.labelSet.labelSetId,
    LABEL_SET_VERSION: String(config.labelSet.labelSetVersion),
    START_BLOCK: String(startBlock ?? ""),
    END_BLOCK: String(endBlock ?? ""),
    DATASOURCES_FILE: config.datasourcesText ?? "",
  };
}

/** The differences between an index's settings and others, a clause each: "LABEL_SET_VERSION changed from 0 to 1". */
export function listChanges(before: RowSettings, after: RowSettings): string[] {
  return Object.keys(after).flatMap((name) => {
    const [was, is] = [before[name] ?? "", after[name] ?? ""];
    if (normalizeSetting(name, was) === normalizeSetting(name, is)) return [];
    if (name === "DATASOURCES_FILE") return ["the contents of DATASOURCES_FILE changed"];
    return [`${name} changed from ${was || "unset"} to ${is || "unset"}`];
  });
}

// The order of plugins decides no rows, nor does whitespace in a file.
function normalizeSetting(name: string, value: string): string {
  if (name === "PLUGINS") return pluginIds.filter((id) => value.split(",").includes(id)).join();
  return name === "DATASOURCES_FILE" && value !== "" ? JSON.stringify(JSON.parse(value)) : value;
}

/**
 * The environment of a reader, which has no webhooks and keys of its own, with the settings of the index it serves and
 * a reader of its DATASOURCES_FILE.
 */
export function toEnvironment(settings: RowSettings, environment: Environment) {
  const { DATASOURCES_FILE = "" } = settings;
  const own = {
    DATASOURCES_FILE: DATASOURCES_FILE && "of the index",
    WEBHOOKS_FILE: "",
    API_KEYS_FILE: "",
    REFERRAL_EDITIONS_FILE: "",
  };
  return {
    environment: { ...environment, ...settings, ...own },
    readTextFile: () => DATASOURCES_FILE,
  };
}
