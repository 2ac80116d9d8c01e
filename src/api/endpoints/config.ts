import { Hono } from "hono";
import type { LabelSource } from "../status/label-source.ts";
import type { Versions } from "../status/versions.ts";

/** The part of the configuration that anyone may read; nothing else of it reaches an answer. */
export type PublicConfig = {
  namespace: string;
  plugins: readonly string[];
  isSubgraphCompatible: boolean;
  labelSet: { labelSetId: string; labelSetVersion: number };
  databaseSchema: string;
  /** Every indexed chain, in the order in which the plugins first name it. */
  indexedChainIds: readonly number[];
};

/** GET /: the public configuration. `labelSource` gives the last known answer of the source of labels. */
export function configRoutes(config: PublicConfig, versions: Versions, labelSource: () => LabelSource): Hono {
  return new Hono().get("/", (c) => c.json(toResponse(config, versions, labelSource())));
}

function toResponse(config: PublicConfig, versions: Versions, labelSource: LabelSource) {
  return {
    indexedChainIds: config.indexedChainIds,
    databaseSchemaName: config.databaseSchema,
    isSubgraphCompatible: config.isSubgraphCompatible,
    labelSet: {
      labelSetId: config.labelSet.labelSetId,
      labelSetVersion: config.labelSet.labelSetVersion,
    },
    namespace: config.namespace,
    plugins: config.plugins,
    versionInfo: {
      runtime: versions.runtime,
      indexingFramework: versions.indexingFramework,
      nsDb: versions.program,
      nsIndexer: versions.program,
      nsNormalize: versions.normalization,
      nsRainbow: labelSource.version,
      nsRainbowSchema: labelSource.schemaVersion,
    },
  };
}
