import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import {
  ConfigurationError,
  describeLogChecks,
  type Environment,
  knownVariables,
  misspeltVariables,
  parseEnvironment,
  privateServerUrl,
} from "./environment.ts";
import { defaultSubgraphLimits, limits } from "./limits.ts";

const noFiles = (path: string): string => {
  throw new Error(`no such file: ${path}`);
};

const root: Environment = {
  NAMESPACE: "mainnet",
  PLUGINS: "subgraph",
  LABELS_URL: "http://localhost:3223",
  RPC_URL_1: "https://rpc.example/1",
};

function faultsOf(environment: Environment, readTextFile = noFiles): readonly string[] {
  try {
    parseEnvironment(environment, readTextFile);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.faults;
    throw error;
  }
  return [];
}

test("docs/subgraph.md lists the limits' defaults", () => {
  const text = readFileSync(new URL("../../docs/subgraph.md", import.meta.url), "utf8");
  const rows = text.matchAll(/\| `([A-Z_]+)` \| (\d+) \|/g);
  const documented = Object.fromEntries([...rows].map(([, variable, usual]) => [variable, Number(usual)]));
  // docs/security.md has the proxies.
  const all = { ...documented, TRUST_PROXY: 0 };
  expect(all).toEqual(
    Object.fromEntries(Object.values(limits).map(([variable, usual]) => [variable, usual])),
  );
});

test("reads the minimal environment with the documented defaults", () => {
  const { datasources, databaseUrl, ...config } = parseEnvironment(root, noFiles);
  expect(databaseUrl).toBe(privateServerUrl(".nsindex/postgres"));
  expect(config).toEqual({
    namespace: "mainnet",
    plugins: ["subgraph"],
    isSubgraphCompatible: false,
    labelSet: { labelSetId: "subgraph", labelSetVersion: 0 },
    healsLabels: false,
    labelsUrl: "http://localhost:3223",
    rootChainId: 1,
    allowsPrivateGateways: false,
    chains: [{ id: 1, name: "mainnet", rpc: { http: ["https://rpc.example/1"] } }],
    blockRange: {},
    rpcCrossCheckPercent: 1,
    needsProofs: false,
    keepsRpcCache: true,
    chainPauseSeconds: 120,
    keepAliveSeconds: 65,
    ponderStores: "own",
    rowCacheMegabytes: 512,
    sharesSessions: false,
    readUrls: [],
    referralEditions: [],
    readLagSeconds: 10,
    databaseFolder: resolve(".nsindex/postgres"),
    databaseSchema: "public",
    switchesWhenReady: false,
    webhooks: [],
    subgraphLimits: defaultSubgraphLimits,
    port: 42069,
    portal: { url: "https://portal.sqd.dev" },
    explorers: {},
    site: {
      ...{ title: "nsindex", color: undefined, logo: undefined },
      ...{ registrationUrl: undefined, isIndexable: false },
    },
    logLevel: "info",
  });
  expect(datasources["ensroot"]?.contracts["ENSv1Registry"]).toEqual({
    address: "0x00000000000c2e074ec69a0dfb2997ba6c7d2e1e",
    startBlock: 9380380,
  });
});

test.each([
  [{}, "sampled 1 %"],
  [{ RPC_CROSS_CHECK_PERCENT: "0" }, "not at all"],
  [{ RPC_CROSS_CHECK_PERCENT: "100" }, "every log"],
  [{ RPC_VERIFY: "receipts", RPC_URL_1: "https://a.example,https://b.example" }, "every log"],
])("with %o the logs of each chain are checked: %s", (more, words) => {
  expect(describeLogChecks(parseEnvironment({ ...root, ...more }, noFiles))).toEqual({ 1: words });
});

test("proofs compare all ranges of logs, and a trusted block takes the place of a second URL", () => {
  const hash = `0x${"A".repeat(64)}`;
  const proving = { ...root, RPC_VERIFY: "receipts", RPC_CROSS_CHECK_PERCENT: "0" };
  const config = parseEnvironment({ ...proving, TRUSTED_BLOCK_1: `21000000:${hash}` }, noFiles);
  expect([config.needsProofs, config.rpcCrossCheckPercent]).toEqual([true, 100]);
  expect(config.chains[0]?.trustedBlock).toEqual({ number: 21_000_000, hash: hash.toLowerCase() });
  const two = { ...proving, RPC_URL_1: "https://a.example,https://b.example" };
  expect(parseEnvironment(two, noFiles).chains[0]?.trustedBlock).toBeUndefined();
});

test("reads the servers of readers in their order", () => {
  const [one, two] = ["postgresql://u:p@one:5432/db", "postgres://two:5433/db?sslmode=require"];
  const config = parseEnvironment({ ...root, DATABASE_READ_URLS: ` ${one}, ${two}` }, noFiles);
  expect(config.readUrls).toEqual([one, two]);
});

test("reads what operators choose of the pages", () => {
  const chosen = {
    ...{ SITE_TITLE: "Names of Example", SITE_COLOR: "#005fcc", SITE_LOGO: "logo.svg", INDEXABLE: "true" },
    REGISTRATION_URL: "https://example.org/{name}/register",
  };
  expect(parseEnvironment({ ...root, ...chosen }, () => "<svg/>\n<svg></svg>").site).toEqual({
    ...{ title: "Names of Example", color: "#005fcc", logo: "<svg/>\n<svg></svg>", isIndexable: true },
    registrationUrl: "https://example.org/{name}/register",
  });
});

test("reads block explorers by chain", () => {
  const config = parseEnvironment(
    { ...root, BLOCK_EXPLORER_URLS: "1=https://a.example, 8453=http://b.example/x" },
    noFiles,
  );
  expect(config.explorers).toEqual({ 1: "https://a.example", 8453: "http://b.example/x" });
  expect(parseEnvironment(root, noFiles).explorers).toEqual({});
});

test("treats an empty variable as unset", () => {
  const config = parseEnvironment({ ...root, PORT: "", LABEL_SET_ID: "  ", DATABASE_URL: "" }, noFiles);
  expect(config.port).toBe(42069);
  expect(config.labelSet.labelSetId).toBe("subgraph");
  expect(config.databaseFolder).toBeDefined();
  expect(config.host).toBeUndefined();
});

test.each(["127.0.0.1", "::1", "localhost"])("listens on the address %s", (host) => {
  expect(parseEnvironment({ ...root, API_HOST: host }, noFiles).host).toBe(host);
});

test("in subgraph mode only the plugin subgraph is active by default", () => {
  const { PLUGINS: _, ...rest } = root;
  expect(parseEnvironment({ ...rest, SUBGRAPH_COMPAT: "true" }, noFiles).plugins).toEqual(["subgraph"]);
});

test("resolves a relative label file from the working directory", () => {
  const { labelsUrl } = parseEnvironment({ ...root, LABELS_URL: "file:./data/labels.sqlite" }, noFiles);
  expect(labelsUrl).toBe(new URL(`file://${process.cwd()}/data/labels.sqlite`).href);
});

test("uses the local ports of the test network without RPC variables", () => {
  const { chains } = parseEnvironment(
    { NAMESPACE: "ens-test-env", PLUGINS: "subgraph", LABELS_URL: "file:/labels.sqlite" },
    noFiles,
  );
  expect(chains).toEqual([
    { id: 15658733, name: "ens-test-env", isLocal: true, rpc: { http: ["http://localhost:8545"] } },
  ]);
});

test("reads the limits of the subgraph endpoint", () => {
  const { subgraphLimits } = parseEnvironment(
    { ...root, SUBGRAPH_MAX_SKIP: "5000", SUBGRAPH_TIMEOUT_MS: "2500" },
    noFiles,
  );
  expect(subgraphLimits).toEqual({ ...defaultSubgraphLimits, skip: 5000, timeoutMs: 2500 });
});

describe("refused alone", () => {
  test.each<[string, Environment, string]>([
    ["no namespace", { NAMESPACE: "" }, "NAMESPACE is missing"],
    ["an unknown namespace", { NAMESPACE: "goerli" }, "mainnet, sepolia, sepolia-v2, holesky, ens-test-env"],
    ["an unknown plugin", { PLUGINS: "subgraph,efp" }, '"efp"'],
    ["an empty plugin", { PLUGINS: "subgraph," }, '""'],
    ["a repeated plugin", { PLUGINS: "subgraph,subgraph" }, "more than once"],
    ["another spelling of true", { SUBGRAPH_COMPAT: "TRUE" }, "true, false"],
    ["a label set id with a digit", { LABEL_SET_ID: "set1" }, "LABEL_SET_ID"],
    ["a label set id of 51 letters", { LABEL_SET_ID: "a".repeat(51) }, "LABEL_SET_ID"],
    ["a negative label set version", { LABEL_SET_VERSION: "-1" }, "LABEL_SET_VERSION"],
    ["no label source", { LABELS_URL: "" }, "LABELS_URL is missing"],
    ["a label source of another kind", { LABELS_URL: "ftp://host/labels" }, "http://, https:// or file:"],
    [
      "a database of another kind",
      { DATABASE_URL: "mysql://u:p@host:1/db", DATABASE_SCHEMA: "a" },
      "DATABASE_URL",
    ],
    [
      "a database URL without port or name",
      { DATABASE_URL: "postgresql://u:p@host", DATABASE_SCHEMA: "a" },
      "DATABASE_URL",
    ],
    [
      "a server to read from that has no port",
      { DATABASE_READ_URLS: "postgresql://u:p@one:5432/db, postgresql://u:p@two/db" },
      "DATABASE_READ_URLS must be postgresql://… with host, port and database name",
    ],
    ["no server to read from", { DATABASE_READ_URLS: "," }, "DATABASE_READ_URLS must be"],
    [
      "a lag of no time",
      { DATABASE_READ_LAG_SECONDS: "0" },
      "DATABASE_READ_LAG_SECONDS must be a whole number",
    ],
    ["a database without schema", { DATABASE_URL: "postgresql://u:p@host:1/db" }, "DATABASE_SCHEMA"],
    ["the RPC cache's schema", { DATABASE_SCHEMA: "ponder_sync" }, "ponder_sync"],
    ["a schema name over 45 characters", { DATABASE_SCHEMA: "s".repeat(46) }, "45"],
    [
      "a views schema that is the index's schema",
      { DATABASE_SCHEMA: "a", DATABASE_STABLE_SCHEMA: "a" },
      "must differ from DATABASE_SCHEMA",
    ],
    ["taking over no name", { SWITCH_WHEN_READY: "true" }, "requires DATABASE_STABLE_SCHEMA"],
    ["Ponder's own views", { DATABASE_VIEWS_SCHEMA: "live" }, "Set DATABASE_STABLE_SCHEMA"],
    ["no RPC URL", { RPC_URL_1: "" }, "RPC_URL_1"],
    ["only a websocket", { RPC_URL_1: "wss://rpc.example" }, "http(s)"],
    [
      "two websockets",
      { RPC_URL_1: "https://a.example,wss://b.example,wss://c.example" },
      "more than one websocket",
    ],
    [
      "a trusted block without a hash",
      { TRUSTED_BLOCK_1: "21000000" },
      "TRUSTED_BLOCK_1 must be <number>:<hash>",
    ],
    [
      "proofs of a chain with one URL and no trusted block",
      { RPC_VERIFY: "receipts" },
      "RPC_VERIFY=receipts needs two URLs in RPC_URL_1",
    ],
    ["proofs by something else", { RPC_VERIFY: "all" }, "samples, receipts"],
    ["text for a URL", { RPC_URL_1: "https://a.example,nonsense" }, "entry 2"],
    ["half of QuickNode", { QUICKNODE_API_KEY: "k" }, "QUICKNODE_ENDPOINT_NAME"],
    ["an end before the start", { START_BLOCK: "9", END_BLOCK: "9" }, "greater than START_BLOCK"],
    ["a fraction of a block", { START_BLOCK: "1.5" }, "START_BLOCK"],
    // WCAG 2.2 has #767676 as the lightest grey for text on white.
    ["a colour that white cannot be read on", { SITE_COLOR: "#777777" }, "SITE_COLOR must be #rrggbb"],
    ["a logo that is no SVG", { SITE_LOGO: "logo.png" }, 'SITE_LOGO "logo.png"'],
    ["a place of registrations for all names", { REGISTRATION_URL: "https://a.example" }, "{name} in it"],
    [
      "an explorer without its chain",
      { BLOCK_EXPLORER_URLS: "https://a.example" },
      "BLOCK_EXPLORER_URLS must be",
    ],
    [
      "an explorer that is a script",
      { BLOCK_EXPLORER_URLS: "1=javascript:alert(1)" },
      "BLOCK_EXPLORER_URLS must be",
    ],
    ["a host with a port", { API_HOST: "http://127.0.0.1" }, "API_HOST must be an IP address"],
    ["port 65536", { PORT: "65536" }, "between 1 and 65535"],
    ["an unknown log level", { LOG_LEVEL: "verbose" }, "LOG_LEVEL"],
    ["a rate of nothing", { RPC_REQUESTS_PER_SECOND: "0" }, "RPC_REQUESTS_PER_SECOND"],
    ["a cache that is neither on nor off", { RPC_CACHE: "0" }, "RPC_CACHE"],
    [
      "a limit that is no number",
      { SUBGRAPH_QUEUE: "many" },
      "SUBGRAPH_QUEUE must be a whole number between 0 and 100000.",
    ],
    ["a datasources file that is not there", { DATASOURCES_FILE: "none.json" }, "none.json"],
    [
      "subgraph mode with another label set",
      { SUBGRAPH_COMPAT: "true", LABEL_SET_ID: "searchlight" },
      "label set",
    ],
  ])("%s", (_, change, part) => {
    const faults = faultsOf({ ...root, ...change });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(part);
  });
});

test("a malformed RPC URL is told beside an unknown namespace", () => {
  expect(faultsOf({ ...root, NAMESPACE: "mainet", RPC_URL_1: "htp://rpc.example" })).toEqual([
    expect.stringMatching(/^NAMESPACE is "mainet", which is unknown/),
    "RPC_URL_1 is unusable: entry 1 is not an http(s):// or ws(s):// URL.",
  ]);
});

test("a reader needs the views schema only", () => {
  const reader = { ...root, DATABASE_URL: "postgresql://u:p@host:1/db", DATABASE_STABLE_SCHEMA: "names" };
  const { databaseSchema, stableSchema } = parseEnvironment(reader, noFiles);
  expect([databaseSchema, stableSchema]).toEqual(["names", "names"]);
});

test("an index in subgraph mode can have a later version of its label set, to which it may have been healed", () => {
  const later = { ...root, SUBGRAPH_COMPAT: "true", LABEL_SET_VERSION: "2", FIRST_LABEL_SET_VERSION: "1" };
  const { labelSet, firstLabelSetVersion } = parseEnvironment(later, noFiles);
  expect([labelSet.labelSetVersion, firstLabelSetVersion]).toEqual([2, 1]);
});

test("the test network's own label set goes with subgraph mode", () => {
  const environment = {
    NAMESPACE: "ens-test-env",
    SUBGRAPH_COMPAT: "true",
    LABELS_URL: "file:/labels.sqlite",
  };
  expect(faultsOf({ ...environment, LABEL_SET_ID: "ens-test-env" })).toEqual([]);
});

test("lists all problems in one message, without the secrets in the variables", () => {
  const secret = "s3cret";
  const environment: Environment = {
    NAMESPACE: "mainnet",
    PLUGINS: "subgraph,nonsense",
    SUBGRAPH_COMPAT: "perhaps",
    DATABASE_URL: `postgresql://user:${secret}@host/names`,
    RPC_URL_1: `wss://rpc.example/${secret},wss://other.example/${secret}`,
    QUICKNODE_API_KEY: secret,
    LABELS_URL: `gopher://user:${secret}@host`,
    PORT: "many",
  };
  let message = "";
  try {
    parseEnvironment(environment, noFiles);
  } catch (error) {
    message = (error as Error).message;
  }
  for (const name of Object.keys(environment).slice(1)) expect(message).toContain(name);
  expect(message).toMatch(/^Invalid configuration \(7 faults\):/);
  expect(message).not.toContain(secret);
});

describe("a misspelt variable", () => {
  test.each([
    ["LABEL_URL", "LABELS_URL"],
    ["PLUGIN", "PLUGINS"],
    ["DATABASE_STABLE_SHEMA", "DATABASE_STABLE_SCHEMA"],
    ["RPC_URL", "RPC_URL_<chain id>"],
    ["RPC_URL_MAINNET", "RPC_URL_<chain id>"],
    ["SUBGRAPH_MAX_ROW", "SUBGRAPH_MAX_ROWS"],
    ["labels_url", "LABELS_URL"],
  ])("%s is named with the nearest known one", (name, nearest) => {
    expect(misspeltVariables({ ...root, [name]: "x" })).toEqual([
      `${name} is not a setting and has no effect; did you mean ${nearest}?`,
    ]);
  });

  test("is a variable of no other program", () => {
    const others = ["PATH", "HOME", "HOST", "PWD", "TERM", "LANG", "SHELL", "USER", "EDITOR", "NODE_ENV"];
    expect(misspeltVariables(Object.fromEntries(others.map((name) => [name, "x"])))).toEqual([]);
    expect(misspeltVariables({ LABEL_URL: " " })).toEqual([]);
  });

  test("is named beside the fault that it causes", () => {
    expect(faultsOf({ ...root, LABELS_URL: undefined, LABEL_URL: "http://localhost:3223" })).toEqual([
      expect.stringMatching(/^LABELS_URL is missing/),
      "LABEL_URL is not a setting and has no effect; did you mean LABELS_URL?",
    ]);
  });
});

test("avatars are off, or have their defaults", () => {
  expect(
    parseEnvironment({ ...root, IPFS_GATEWAY_URL: "https://ipfs.example" }, noFiles).metadata,
  ).toBeUndefined();
  expect(
    parseEnvironment({ ...root, METADATA: "true", METADATA_URL: "https://names.example/" }, noFiles).metadata,
  ).toEqual({
    url: "https://names.example",
    folder: ".ponder/metadata",
    megabytes: 512,
    ipfsGateway: "https://ipfs.io",
  });
});

test("faults of the settings of avatars are named together, without credentials", () => {
  const given = { METADATA: "yes", METADATA_CACHE_MB: "0", METADATA_URL: "names.example" };
  expect(faultsOf({ ...root, ...given, IPFS_GATEWAY_URL: "http://u:hunter2@ipfs.example" })).toEqual([
    'METADATA is "yes", which is unknown. Set one of: true, false.',
    "METADATA_URL must be an http(s):// URL without credentials.",
    "METADATA_CACHE_MB must be a whole number between 1 and 1000000.",
    "IPFS_GATEWAY_URL must be an http(s):// URL without credentials.",
  ]);
});

test("a misspelt plugin is one fault, with the nearest", () => {
  expect(faultsOf({ ...root, PLUGINS: "subgrah", SUBGRAPH_COMPAT: "true" })).toEqual([
    expect.stringMatching(
      /^Unknown plugin in PLUGINS: "subgrah" \(did you mean "subgraph"\?\)\. Choose from: /,
    ),
  ]);
});

test(".env.example describes every variable that is used", () => {
  const example = readFileSync(new URL("../../.env.example", import.meta.url), "utf8");
  const described = [...example.matchAll(/^#?([A-Z][A-Z_]+)=/gm)].map(([, name = ""]) => name);
  const internal = ["FIRST_LABEL_SET_VERSION", "DATABASE_VIEWS_SCHEMA"];
  expect(knownVariables.filter((name) => !described.includes(name))).toEqual(internal);
});
