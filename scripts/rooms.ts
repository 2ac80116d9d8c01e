/** A folder of the project and what its files may import besides each other. */
export type Room = {
  folder: string;
  /** Folders further up in the list, so that no two rooms import each other. */
  imports: readonly string[] | "everything";
  /** Framework packages; see `frameworks`. */
  packages?: readonly string[];
  /** True if the files of the folder may not import each other. */
  isApart?: boolean;
};

/** Packages that only the rooms naming them may import. All others are open to every room. */
export const frameworks = ["ponder", "ponder:registry", "ponder:api", "hono", "drizzle-orm", "graphql", "pg"];

const labelsOnly = ["src/ens", "src/labels"];

/**
 * Who may import whom. Tests are free, and so are `test` and `bench`, which nothing else may import. The API only
 * reads: it never imports rules. Of `src` the label service, a separate process, may import `ens` and `labels` only.
 */
export const rooms: readonly Room[] = [
  { folder: "abis", imports: [] },
  { folder: "src/ens", imports: [] },
  { folder: "src/schema", imports: [], packages: ["ponder"] },
  { folder: "src/labels", imports: ["src/ens"] },
  { folder: "src/deployments", imports: ["abis", "src/ens"] },
  { folder: "src/config", imports: ["abis", "src/ens", "src/labels", "src/deployments"] },
  { folder: "src/ponder", imports: ["src/config"], packages: ["ponder", "ponder:registry", "ponder:api"] },
  {
    folder: "src/indexing",
    imports: ["abis", "src/ens", "src/schema", "src/labels", "src/deployments", "src/ponder"],
    packages: ["ponder:registry"],
  },
  {
    folder: "src/contracts",
    imports: ["abis", "src/ens", "src/deployments", "src/indexing"],
    packages: ["ponder:registry"],
  },
  {
    folder: "src/plugins",
    imports: ["abis", "src/ens", "src/deployments", "src/indexing", "src/contracts"],
    packages: ["ponder:registry"],
    isApart: true,
  },
  { folder: "src/api/database", imports: ["src/ens", "src/schema", "src/ponder"], packages: ["ponder"] },
  { folder: "src/api/status", imports: ["src/config", "src/ponder", "src/api/database"] },
  {
    folder: "src/api/resolution",
    imports: ["abis", "src/ens", "src/deployments", "src/api/database"],
  },
  {
    folder: "src/api/subgraph",
    imports: ["src/ens", "src/ponder", "src/api/database", "src/api/status"],
    packages: ["hono", "graphql"],
  },
  {
    folder: "src/api/rest",
    imports: [
      "src/ens",
      "src/labels",
      "src/deployments",
      "src/config",
      "src/ponder",
      "src/api/database",
      "src/api/status",
      "src/api/resolution",
    ],
    packages: ["hono", "ponder"],
  },
  {
    folder: "src/api",
    imports: [
      "src/labels",
      "src/deployments",
      "src/config",
      "src/ponder",
      "src/api/database",
      "src/api/status",
      "src/api/resolution",
      "src/api/subgraph",
      "src/api/rest",
    ],
    packages: ["hono", "ponder:api"],
  },
  {
    folder: "src",
    imports: ["src/labels", "src/deployments", "src/config", "src/ponder", "src/indexing", "src/plugins"],
  },
  { folder: "labels-service/store", imports: labelsOnly },
  { folder: "labels-service/formats", imports: labelsOnly },
  {
    folder: "labels-service/ingest",
    imports: [...labelsOnly, "labels-service/store", "labels-service/formats"],
  },
  { folder: "labels-service/http", imports: [...labelsOnly, "labels-service/store"] },
  {
    folder: "labels-service/commands",
    imports: [
      ...labelsOnly,
      "labels-service/store",
      "labels-service/formats",
      "labels-service/ingest",
      "labels-service/http",
    ],
  },
  { folder: "labels-service", imports: [...labelsOnly, "labels-service/commands"] },
  { folder: "scripts", imports: ["src/labels", "src/config"] },
  { folder: "", imports: ["src/schema", "src/config"], packages: ["ponder"] },
  { folder: "devnet", imports: ["src/deployments", "labels-service/store"] },
  { folder: "test", imports: "everything" },
  { folder: "bench", imports: "everything" },
];
