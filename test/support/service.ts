// What a service says of itself, for tests of its pages and of the whole API.

/** A configuration with secrets, which no response may have, and the versions of what runs. */
export const service = {
  config: {
    namespace: "mainnet",
    plugins: ["subgraph", "registrars"],
    isSubgraphCompatible: false,
    labelSet: { labelSetId: "subgraph", labelSetVersion: 0 },
    databaseSchema: "names_v1_5_1",
    indexedChainIds: [1, 8453, 59144],
    databaseUrl: "postgresql://indexer:hunter2@db:5432/names",
    labelsUrl: "http://user:hunter2@labels:3223",
    chains: [
      { id: 1, name: "mainnet", rpc: { http: ["https://eth.example/v2/hunter2", "https://b.example"] } },
      { id: 8453, name: "base", rpc: { http: ["https://user:hunter2@base.example"] } },
    ],
  },
  versions: {
    runtime: "24.13.0",
    indexingFramework: "0.17.7",
    nsDb: "1.5.1",
    nsIndexer: "1.5.1",
    nsNormalize: "1.11.1",
  },
  labelSource: async () => ({
    version: "1.5.0",
    schemaVersion: 3,
    recordsCount: 12_345,
    highestLabelSetVersion: 2,
  }),
};

/** What the pages of an indexer on Postgres show that has counted nothing yet. */
export const pageSources = {
  registry: undefined,
  examples: new Map(),
  archives: new Map(),
  believed: new Map(),
  process: { isIndexer: true },
  indexes: () => undefined,
  hashOf: () => undefined,
  log: () => undefined,
  streams: () => 0,
  hooks: () => [],
  onStop: () => undefined,
};
