/** A folder of the project, or a single file, and what its files may import besides each other. */
export type Room = {
  path: string;
  /** Rooms further up in the list, so that no two rooms import each other. */
  imports: readonly string[] | "everything";
  /** Framework packages; see `frameworks`. */
  packages?: readonly string[];
  /** True if the files of the folder may not import each other. */
  isApart?: boolean;
};

/** Packages that only the rooms naming them may import. All others are open to every room. */
export const frameworks = ["ponder", "ponder:registry", "ponder:api", "hono", "drizzle-orm", "graphql", "pg"];

const forLabels = ["src/json-log.ts", "src/ens", "src/labels"];
const facts = ["abis", "src/ens", "src/deployments"];
const apiRooms = ["src/api/database", "src/api/status", "src/api/rest"];

/**
 * Who may import whom. Tests are free, and so are `test` and `bench`, which nothing else may import. The API only
 * reads: it never imports rules. Of `src` the label service, a separate process, may import labels and names only.
 */
export const rooms: readonly Room[] = [
  { path: "abis", imports: [] },
  { path: "src/json-log.ts", imports: [] },
  { path: "src/ens", imports: [] },
  { path: "src/schema", imports: [], packages: ["ponder"] },
  { path: "src/labels", imports: ["src/json-log.ts", "src/ens"] },
  { path: "src/deployments", imports: ["abis", "src/ens"] },
  { path: "src/config", imports: [...facts, "src/labels"] },
  { path: "src/ponder", imports: ["src/config"], packages: ["ponder", "ponder:registry", "ponder:api"] },
  {
    path: "src/indexing",
    imports: [...facts, "src/json-log.ts", "src/schema", "src/labels", "src/ponder"],
    packages: ["ponder:registry"],
  },
  { path: "src/contracts", imports: [...facts, "src/indexing"], packages: ["ponder:registry"] },
  { path: "src/plugins", imports: [...facts, "src/indexing", "src/contracts"], isApart: true },
  { path: "src/api/database", imports: ["src/ens", "src/schema", "src/ponder"], packages: ["ponder"] },
  {
    path: "src/api/status",
    imports: ["src/config", "src/ponder", "src/api/database"],
    packages: ["ponder"],
  },
  {
    path: "src/api/rest",
    imports: ["src/json-log.ts", "src/ens", "src/api/database", "src/api/status"],
    packages: ["hono"],
  },
  { path: "src/api/resolution", imports: [...facts, "src/api/database", "src/api/rest"] },
  {
    path: "src/api/subgraph",
    imports: ["src/ens", "src/config", "src/ponder", "src/api/database", "src/api/status"],
    packages: ["hono", "graphql"],
  },
  {
    path: "src/api/endpoints",
    imports: [...facts, "src/labels", "src/config", "src/ponder", ...apiRooms, "src/api/resolution"],
  },
  { path: "src/log.ts", imports: ["src/json-log.ts", "src/ponder"] },
  {
    path: "src/api",
    imports: [
      "src/log.ts",
      "src/labels",
      "src/deployments",
      "src/config",
      "src/ponder",
      ...apiRooms,
      "src/api/resolution",
      "src/api/subgraph",
      "src/api/endpoints",
    ],
    packages: ["hono", "ponder:api"],
  },
  {
    path: "src",
    imports: [
      "src/json-log.ts",
      "src/log.ts",
      "src/labels",
      "src/deployments",
      "src/config",
      "src/ponder",
      "src/indexing",
      "src/contracts",
      "src/plugins",
    ],
  },
  { path: "labels-service/store", imports: forLabels },
  { path: "labels-service/formats", imports: forLabels },
  {
    path: "labels-service/ingest",
    imports: [...forLabels, "labels-service/store", "labels-service/formats"],
  },
  { path: "labels-service/http", imports: [...forLabels, "labels-service/store"] },
  {
    path: "labels-service/commands",
    imports: [
      ...forLabels,
      "labels-service/store",
      "labels-service/formats",
      "labels-service/ingest",
      "labels-service/http",
    ],
  },
  { path: "labels-service", imports: [...forLabels, "labels-service/formats", "labels-service/commands"] },
  { path: "scripts", imports: ["src/labels", "src/config"] },
  { path: "", imports: ["src/schema", "src/config"], packages: ["ponder"] },
  { path: "devnet", imports: ["abis", "src/deployments", "labels-service/store"] },
  { path: "test", imports: "everything" },
  { path: "bench", imports: "everything" },
];
