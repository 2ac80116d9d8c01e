import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod/v4";
import { type Namespace, type NamespaceId, namespaceIds } from "../deployments/deployment.ts";
import { rootDatasource } from "../deployments/ens.ts";
import { namespaces } from "../deployments/namespaces.ts";
import { type LabelSetPin, labelSetIdPattern, labelSetIdRule } from "../labels/label-set.ts";
import { blockRangeFaults, chainsFrom, type IndexedChain } from "./chains.ts";
import { applyDatasourcesFile } from "./datasources-file.ts";
import { limitVariables, type SubgraphLimits, subgraphLimitsFrom } from "./limits.ts";
import { nearestOf } from "./nearest.ts";
import { indexedChainIds, namespaceFaults, type PluginId, pluginIds, pluginsFrom } from "./plugins.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The checked configuration from the environment. */
export type Config = {
  namespace: NamespaceId;
  datasources: Namespace;
  /** Text of DATASOURCES_FILE. */
  datasourcesText?: string;
  plugins: PluginId[];
  isSubgraphCompatible: boolean;
  labelSet: LabelSetPin;
  labelsUrl: string;
  rootChainId: number;
  /** Whether gateways of off-chain names may lie in private networks and go without TLS. */
  allowsPrivateGateways: boolean;
  /** In the order in which the plugins name them. */
  chains: IndexedChain[];
  /** Blocks of the only chain to index: START_BLOCK and END_BLOCK. */
  blockRange: { startBlock?: number | undefined; endBlock?: number | undefined };
  /** Requests a second at which each RPC URL starts; undefined: a default for the kind of URL. */
  rpcRequestsPerSecond?: number | undefined;
  /** Percent of the ranges of logs that are asked of a second RPC URL too, where a chain has several. */
  rpcCrossCheckPercent: number;
  /** Whether what the RPC URLs return is kept for later indexes. */
  keepsRpcCache: boolean;
  /** Memory for the rows that indexing uses, about; the last used ones stay. */
  rowCacheMegabytes: number;
  /** Whose stores of rows and of what nodes returned Ponder uses: this project's, or those it comes with. */
  ponderStores: "own" | "stock";
  /** Folder or URL of an archive that answers what it covers, in front of the RPC URLs. */
  archive?: string;
  /** Undefined: the embedded database in `pgliteDirectory`. */
  databaseUrl?: string;
  pgliteDirectory: string;
  databaseSchema: string;
  /** Schema of views on the index that readers are served from; `npm run db -- switch` points it to another index. */
  stableSchema?: string;
  /** Whether this index takes over `stableSchema` by itself, once it has caught up. */
  switchesWhenReady: boolean;
  subgraphLimits: SubgraphLimits;
  port: number;
  /** Address that the API listens on; undefined: all of the machine's. */
  host?: string;
  logLevel: LogLevel;
};

const logLevels = ["silent", "fatal", "error", "warn", "info", "debug", "trace"] as const;
type LogLevel = (typeof logLevels)[number];

const decimal = (name: string, minimum: number, maximum = Number.MAX_SAFE_INTEGER) =>
  z
    .string()
    .refine((text) => /^\d{1,16}$/.test(text) && Number(text) >= minimum && Number(text) <= maximum, {
      error: `${name} must be a whole number ${maximum === Number.MAX_SAFE_INTEGER ? `from ${minimum}` : `between ${minimum} and ${maximum}`}.`,
    })
    .transform(Number);

const oneOf = <T extends string>(name: string, values: readonly T[]) =>
  z.enum(values, {
    error: ({ input }) =>
      `${name} is ${input === undefined ? "missing" : `"${input}", which is unknown`}. Set one of: ${values.join(", ")}.`,
  });

// An empty variable counts as unset.
const variables = z.object({
  NAMESPACE: oneOf("NAMESPACE", namespaceIds),
  PLUGINS: z.string().optional(),
  SUBGRAPH_COMPAT: oneOf("SUBGRAPH_COMPAT", ["true", "false"]).default("false"),
  LABEL_SET_ID: z
    .string()
    .regex(labelSetIdPattern, `LABEL_SET_ID must have ${labelSetIdRule}.`)
    .default("subgraph"),
  LABEL_SET_VERSION: decimal("LABEL_SET_VERSION", 0).default(0),
  LABELS_URL: z
    .string({
      error:
        "LABELS_URL is missing. Set the label service's address (http://localhost:3223) or a label database (file:./data/labels.sqlite).",
    })
    .refine((text) => isLabelsUrl(text), "LABELS_URL must begin with http://, https:// or file:."),
  DATABASE_URL: z
    .string()
    .refine(
      (text) => isPostgresUrl(text),
      "DATABASE_URL must be postgresql://… with host, port and database name.",
    )
    .optional(),
  PGLITE_DIRECTORY: z.string().default(".ponder/pglite"),
  DATABASE_SCHEMA: z
    .string()
    .regex(/^[^\0"]{1,45}$/, "DATABASE_SCHEMA must be 1 to 45 characters.")
    .refine(
      (text) => text !== "ponder_sync",
      'DATABASE_SCHEMA must not be "ponder_sync": the RPC cache lives there.',
    )
    .optional(),
  DATABASE_STABLE_SCHEMA: z
    .string()
    .regex(/^[^\0"]{1,45}$/, "DATABASE_STABLE_SCHEMA must be 1 to 45 characters.")
    .optional(),
  SWITCH_WHEN_READY: oneOf("SWITCH_WHEN_READY", ["true", "false"]).default("false"),
  START_BLOCK: decimal("START_BLOCK", 0).optional(),
  END_BLOCK: decimal("END_BLOCK", 0).optional(),
  PORT: decimal("PORT", 1, 65_535).default(42_069),
  API_HOST: z
    .string()
    .regex(/^[a-z0-9.:-]+$/i, "API_HOST must be an IP address or a host name.")
    .optional(),
  RPC_REQUESTS_PER_SECOND: decimal("RPC_REQUESTS_PER_SECOND", 1, 100_000).optional(),
  RPC_CROSS_CHECK_PERCENT: decimal("RPC_CROSS_CHECK_PERCENT", 0, 100).default(1),
  RPC_CACHE: oneOf("RPC_CACHE", ["true", "false"]).default("true"),
  ROW_CACHE_MB: decimal("ROW_CACHE_MB", 1, 1_000_000).default(512),
  PONDER_STORES: oneOf("PONDER_STORES", ["own", "stock"]).default("own"),
  ARCHIVE: z
    .string()
    .refine(
      (text) => !text.includes("://") || (/^https?:/.test(text) && URL.canParse(text)),
      "ARCHIVE must be a folder, or an http(s):// URL.",
    )
    .optional(),
  ALCHEMY_API_KEY: z.string().optional(),
  QUICKNODE_API_KEY: z.string().optional(),
  QUICKNODE_ENDPOINT_NAME: z.string().optional(),
  DRPC_API_KEY: z.string().optional(),
  DATASOURCES_FILE: z.string().optional(),
  CCIP_ALLOW_PRIVATE_HOSTS: oneOf("CCIP_ALLOW_PRIVATE_HOSTS", ["true", "false"]).default("false"),
  LOG_LEVEL: oneOf("LOG_LEVEL", logLevels).default("info"),
});

type Variables = z.infer<typeof variables>;

/**
 * The configuration that the environment describes.
 * Throws one ConfigurationError that lists every fault, each with its remedy and without secrets.
 */
export function parseEnvironment(environment: Environment, readTextFile: (path: string) => string): Config {
  const given = Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value?.trim() ? [[name, value.trim()]] : [])),
  );
  const parsed = variables.safeParse(given);
  // A fault in one variable does not hide others: valid values are checked further.
  const sound = soundVariables(given, parsed.error);
  const faults = parsed.error?.issues.map((issue) => issue.message) ?? [];

  const { datasources, text, fault } = datasourcesFrom(sound, readTextFile);
  if (fault) faults.push(fault);
  const isSubgraphCompatible = sound.SUBGRAPH_COMPAT === "true";
  const active = pluginsFrom(sound.PLUGINS, isSubgraphCompatible, datasources, faults);
  if (sound.NAMESPACE) faults.push(...namespaceFaults(sound.NAMESPACE, datasources, active));
  if (isSubgraphCompatible) faults.push(...compatibilityFaults(sound));

  const chainIds = indexedChainIds(active, datasources);
  const rootChainId = datasources[rootDatasource]?.chainId ?? 0;
  const withRoot = [...new Set([...chainIds, ...(sound.NAMESPACE ? [rootChainId] : [])])];
  const chains = chainsFrom(sound, given, withRoot, faults);
  faults.push(...blockRangeFaults(sound, chainIds));
  const subgraphLimits = subgraphLimitsFrom(given, faults);
  if (sound.DATABASE_URL && !sound.DATABASE_SCHEMA) {
    faults.push(
      "DATABASE_SCHEMA is missing. Each indexing service needs a schema of its own in the database, for example names_v1.",
    );
  }
  faults.push(...stableSchemaFaults(sound, given));
  if (faults.length > 0 || !parsed.success)
    throw new ConfigurationError([...faults, ...misspeltVariables(given)]);

  return {
    namespace: parsed.data.NAMESPACE,
    datasources,
    ...(text === undefined ? {} : { datasourcesText: text }),
    plugins: active,
    isSubgraphCompatible,
    labelSet: { labelSetId: parsed.data.LABEL_SET_ID, labelSetVersion: parsed.data.LABEL_SET_VERSION },
    labelsUrl: absoluteLabelsUrl(parsed.data.LABELS_URL),
    rootChainId,
    allowsPrivateGateways: parsed.data.CCIP_ALLOW_PRIVATE_HOSTS === "true",
    chains: chains.filter(({ id }) => chainIds.includes(id)),
    blockRange: { startBlock: parsed.data.START_BLOCK, endBlock: parsed.data.END_BLOCK },
    rpcRequestsPerSecond: parsed.data.RPC_REQUESTS_PER_SECOND,
    rpcCrossCheckPercent: parsed.data.RPC_CROSS_CHECK_PERCENT,
    ...{ keepsRpcCache: parsed.data.RPC_CACHE === "true", ponderStores: parsed.data.PONDER_STORES },
    rowCacheMegabytes: parsed.data.ROW_CACHE_MB,
    ...(parsed.data.ARCHIVE === undefined ? {} : { archive: parsed.data.ARCHIVE }),
    ...(parsed.data.DATABASE_URL === undefined ? {} : { databaseUrl: parsed.data.DATABASE_URL }),
    pgliteDirectory: parsed.data.PGLITE_DIRECTORY,
    databaseSchema: parsed.data.DATABASE_SCHEMA ?? "public",
    ...(parsed.data.DATABASE_STABLE_SCHEMA === undefined
      ? {}
      : { stableSchema: parsed.data.DATABASE_STABLE_SCHEMA }),
    switchesWhenReady: parsed.data.SWITCH_WHEN_READY === "true",
    subgraphLimits,
    port: parsed.data.PORT,
    ...(parsed.data.API_HOST === undefined ? {} : { host: parsed.data.API_HOST }),
    logLevel: parsed.data.LOG_LEVEL,
  };
}

const knownVariables = [
  ...Object.keys(variables.shape),
  ...limitVariables,
  "LABELS_DATABASE",
  "LABELS_PORT",
  "DATABASE_VIEWS_SCHEMA",
];

/** A sentence for each set variable that is unknown and close to a known one: probably it is misspelt, and has no effect. */
export function misspeltVariables(environment: Environment): string[] {
  return Object.entries(environment).flatMap(([name, value]) => {
    if (!value?.trim() || name.length < 5 || knownVariables.includes(name) || /^RPC_URL_\d+$/.test(name))
      return [];
    // Names of other programs are short, or differ in more.
    const near = /^RPC_?URLS?(_|\d|$)/i.test(name)
      ? "RPC_URL_<chain id>"
      : nearestOf(
          name,
          knownVariables.filter((known) => known.length >= 6),
          name.length < 8 ? 1 : 2,
        );
    return near === undefined ? [] : [`${name} is no setting and has no effect; the nearest is ${near}.`];
  });
}

let configOfProcess: Config | undefined;

/** The configuration of this process, parsed at the first call; throws a ConfigurationError. */
export function readConfig(): Config {
  configOfProcess ??= parseEnvironment(process.env, (path) => readFileSync(path, "utf8"));
  return configOfProcess;
}

function soundVariables(given: Record<string, string>, error: z.ZodError | undefined): Partial<Variables> {
  const faulty = new Set(error?.issues.map((issue) => String(issue.path[0])));
  const others = Object.fromEntries(Object.entries(given).filter(([name]) => !faulty.has(name)));
  return { ...variables.partial().safeParse(others).data } as Partial<Variables>;
}

function datasourcesFrom(
  { NAMESPACE, DATASOURCES_FILE }: Partial<Variables>,
  readTextFile: (path: string) => string,
): { datasources: Namespace; text?: string; fault?: string } {
  const table = NAMESPACE === undefined ? {} : namespaces[NAMESPACE];
  if (DATASOURCES_FILE === undefined || NAMESPACE === undefined) return { datasources: table };
  try {
    const text = readTextFile(DATASOURCES_FILE);
    return { datasources: applyDatasourcesFile(NAMESPACE, table, text), text };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { datasources: table, fault: `DATASOURCES_FILE "${DATASOURCES_FILE}" cannot be used: ${reason}.` };
  }
}

function compatibilityFaults({
  NAMESPACE,
  PLUGINS,
  LABEL_SET_ID,
  LABEL_SET_VERSION,
}: Partial<Variables>): string[] {
  const faults: string[] = [];
  // An unknown plugin is a fault of its own.
  const others = (PLUGINS ?? "subgraph").split(",").map((id) => id.trim());
  if (others.some((id) => id !== "subgraph" && pluginIds.some((plugin) => plugin === id))) {
    faults.push(
      "SUBGRAPH_COMPAT=true works only with PLUGINS=subgraph. Set PLUGINS=subgraph or SUBGRAPH_COMPAT=false.",
    );
  }
  const sets = NAMESPACE === "ens-test-env" ? ["subgraph", "ens-test-env"] : ["subgraph"];
  const isLegal = sets.includes(LABEL_SET_ID ?? "subgraph") && (LABEL_SET_VERSION ?? 0) === 0;
  if (!isLegal) {
    faults.push(
      `SUBGRAPH_COMPAT=true works only with label set ${sets.join(" or ")}, version 0. Fix LABEL_SET_ID and LABEL_SET_VERSION.`,
    );
  }
  return faults;
}

function stableSchemaFaults(
  { DATABASE_URL, DATABASE_SCHEMA, DATABASE_STABLE_SCHEMA: name, SWITCH_WHEN_READY }: Partial<Variables>,
  given: Environment,
): string[] {
  const faults: string[] = [];
  if (name !== undefined && (name === DATABASE_SCHEMA || ["public", "ponder_sync"].includes(name)))
    faults.push(
      `DATABASE_STABLE_SCHEMA must differ from DATABASE_SCHEMA, public and ponder_sync, for example names; it is "${name}".`,
    );
  if (SWITCH_WHEN_READY === "true" && (name === undefined || DATABASE_URL === undefined))
    faults.push("SWITCH_WHEN_READY=true requires DATABASE_URL and DATABASE_STABLE_SCHEMA.");
  if (given["DATABASE_VIEWS_SCHEMA"] !== undefined)
    faults.push("DATABASE_VIEWS_SCHEMA is not used. Set DATABASE_STABLE_SCHEMA.");
  return faults;
}

function isLabelsUrl(text: string): boolean {
  if (text.startsWith("file:")) return text.length > "file:".length;
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

// A relative path after `file:` is relative to the working directory; a URL alone would take it from the root.
function absoluteLabelsUrl(text: string): string {
  if (!text.startsWith("file:") || text.startsWith("file://")) return text;
  return pathToFileURL(resolve(text.slice("file:".length))).href;
}

function isPostgresUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, port, pathname } = new URL(text);
  return /^postgres(ql)?:$/.test(protocol) && hostname !== "" && port !== "" && pathname.length > 1;
}

/** The environment cannot be used; the message lists every fault. */
export class ConfigurationError extends Error {
  override name = "ConfigurationError";
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(
      `Invalid configuration${faults.length === 1 ? "" : ` (${faults.length} faults)`}:\n${faults.map((fault) => `  - ${fault}`).join("\n")}`,
    );
    this.faults = faults;
  }
}
