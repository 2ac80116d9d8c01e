import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod/v4";
import { type Namespace, namespaceIds } from "../deployments/deployment.ts";
import { rootDatasource } from "../deployments/ens.ts";
import { namespaces } from "../deployments/namespaces.ts";
import { labelSetIdPattern, labelSetIdRule } from "../labels/label-set.ts";
import { findNearest } from "../log/nearest.ts";
import { Refusal } from "../log/refusal.ts";
import { apiKeysFrom } from "./api-keys-file.ts";
import { chainsFrom } from "./chains.ts";
import { applyDatasourcesFile } from "./datasources-file.ts";
import { limits, pickLimits } from "./limits.ts";
import { indexedChainIds, namespaceFaults, pluginIds, pluginsFrom } from "./plugins.ts";
import { referralEditionsFrom } from "./referral-editions.ts";
import { webhooksFrom } from "./webhooks-file.ts";

// The configuration of the indexing service: environment variables and files become typed settings, and every fault is
// reported at once. Nothing here connects to anything; cli/checks and src/service check what the settings name.

export type Environment = Readonly<Record<string, string | undefined>>;

// Messages follow the variable's name.
const decimal = (min: number, max = Number.MAX_SAFE_INTEGER) => {
  const bounds = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `between ${min} and ${max}`;
  const isWithin = (text: string) => /^\d{1,16}$/.test(text) && Number(text) >= min && Number(text) <= max;
  return z.string().refine(isWithin, `must be a whole number ${bounds}.`).transform(Number);
};

const oneOf = <T extends string>(values: readonly T[]) =>
  z.enum(values, {
    error: ({ input }) =>
      `is ${input === undefined ? "missing" : `"${input}", which is unknown`}. Set one of: ${values.join(", ")}.`,
  });

const flag = (usual: "true" | "false") =>
  oneOf(["true", "false"])
    .default(usual)
    .transform((text) => text === "true");

const schemaName = z.string().regex(/^[^\0"]{1,45}$/, "must be 1 to 45 characters.");
const notCache = (text: string) => text !== "ponder_sync";
const noLabels =
  "is missing. Set the label service's address (http://localhost:3223) or a label database (file:./data/labels.sqlite).";
const notHttpUrl = "must be an http(s):// URL without credentials.";
const text = z.string().optional();
const ofLimits = Object.values(limits).map(
  ([variable, usual, min, max]) => [variable, decimal(min, max).default(usual)] as const,
);

// An empty variable counts as unset.
const variables = z.object({
  NAMESPACE: oneOf(namespaceIds),
  PLUGINS: text,
  SUBGRAPH_COMPAT: flag("false"),
  LABEL_SET_ID: z.string().regex(labelSetIdPattern, `must have ${labelSetIdRule}.`).default("subgraph"),
  LABEL_SET_VERSION: decimal(0).default(0),
  LABELS_HEAL: flag("false"),
  FIRST_LABEL_SET_VERSION: decimal(0).optional(),
  LABELS_URL: z
    .string({ error: noLabels })
    .refine(isLabelsUrl, "must begin with http://, https:// or file:."),
  DATABASE_URL: z
    .string()
    .refine(isPostgresUrl, "must be postgresql://… with host, port and database name.")
    .optional(),
  DATABASE_POOLER: oneOf(["session", "transaction"]).default("session"),
  DATABASE_READ_URLS: z
    .string()
    .refine((urls) => splitList(urls).every(isPostgresUrl), {
      error: "must be postgresql://… with host, port and database name, several of them separated by commas.",
    })
    .transform(splitList)
    .optional(),
  DATABASE_READ_LAG_SECONDS: decimal(1, 86_400).default(10),
  DATABASE_FOLDER: z.string().default(".nsindex/postgres"),
  DATABASE_SCHEMA: schemaName
    .refine(notCache, 'must not be "ponder_sync": the RPC cache lives there.')
    .optional(),
  DATABASE_STABLE_SCHEMA: schemaName.optional(),
  SWITCH_WHEN_READY: flag("false"),
  START_BLOCK: decimal(0).optional(),
  END_BLOCK: decimal(0).optional(),
  HISTORY_BLOCKS: z
    .union([z.literal("all"), decimal(0)], { error: `must be "all" or a whole number of blocks.` })
    .optional(),
  PORT: decimal(1, 65_535).default(42_069),
  API_HOST: z
    .string()
    .regex(/^[a-z0-9.:-]+$/i, "must be an IP address or a host name.")
    .optional(),
  KEEP_ALIVE_SECONDS: decimal(1, 3_600).default(65),
  RPC_REQUESTS_PER_SECOND: decimal(1, 100_000).optional(),
  RPC_CROSS_CHECK_PERCENT: decimal(0, 100).default(1),
  RPC_VERIFY: oneOf(["samples", "receipts"]).default("samples"),
  RPC_CACHE: flag("true"),
  CHAIN_PAUSE_SECONDS: decimal(1, 86_400).default(120),
  ROW_CACHE_MB: decimal(1, 1_000_000).default(512),
  PONDER_STORES: oneOf(["own", "stock"]).default("own"),
  ARCHIVE: text.refine(isArchive, "must be a folder, or an http(s):// URL."),
  PORTAL_URL: z.string().refine(isHttpUrl, notHttpUrl).default("https://portal.sqd.dev"),
  PORTAL_API_KEY: text,
  ALCHEMY_API_KEY: text,
  QUICKNODE_API_KEY: text,
  QUICKNODE_ENDPOINT_NAME: text,
  DRPC_API_KEY: text,
  DATASOURCES_FILE: text,
  WEBHOOKS_FILE: text,
  API_KEYS_FILE: text,
  REFERRAL_EDITIONS_FILE: text,
  CCIP_ALLOW_PRIVATE_HOSTS: flag("false"),
  METADATA: flag("false"),
  METADATA_URL: z.string().refine(isHttpUrl, notHttpUrl).optional(),
  METADATA_CACHE_DIR: z.string().default(".ponder/metadata"),
  METADATA_CACHE_MB: decimal(1, 1_000_000).default(512),
  IPFS_GATEWAY_URL: z.string().refine(isHttpUrl, notHttpUrl).default("https://ipfs.io"),
  BLOCK_EXPLORER_URLS: z
    .string()
    .refine((urls) => Object.values(parseExplorers(urls)).every(isWebUrl), {
      error: "must be <chain id>=<http(s) URL>, several of them separated by commas.",
    })
    .transform(parseExplorers)
    .optional(),
  SITE_TITLE: z.string().max(60, "must have at most 60 characters.").default("nsindex"),
  SITE_COLOR: z
    .string()
    .refine(isDarkColor, "must be #rrggbb, so dark that white text on it has a contrast of 4.5 to 1.")
    .optional(),
  SITE_LOGO: text,
  REGISTRATION_URL: z
    .string()
    .refine((url) => isHttpUrl(url) && url.includes("{name}"), "must be an http(s):// URL with {name} in it.")
    .optional(),
  INDEXABLE: flag("false"),
  LOG_LEVEL: oneOf(["silent", "fatal", "error", "warn", "info", "debug", "trace"]).default("info"),
  ...(Object.fromEntries(ofLimits) as Record<never, z.ZodType>),
});

type EnvironmentVariables = z.infer<typeof variables>;

/**
 * The configuration that the environment describes. Throws a ConfigurationError with every fault and its remedy,
 * without secrets.
 */
export function parseEnvironment(environment: Environment, readTextFile: (path: string) => string) {
  const given = Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value?.trim() ? [[name, value.trim()]] : [])),
  );
  const parsed = variables.safeParse(given);
  // A fault in one variable does not hide others: valid variables are checked further.
  const sound = pickSoundVariables(given, parsed.error);
  const faults = parsed.error?.issues.map(({ path, message }) => `${path.join()} ${message}`) ?? [];

  const { datasources, text, fault } = readDatasources(sound, readTextFile);
  if (fault) faults.push(fault);
  const webhooks = webhooksFrom(sound.WEBHOOKS_FILE, readTextFile, faults);
  const apiKeys = apiKeysFrom(sound.API_KEYS_FILE, readTextFile, faults);
  const referralEditions = referralEditionsFrom(sound.REFERRAL_EDITIONS_FILE, readTextFile, faults);
  const siteLogo = readLogo(sound.SITE_LOGO, readTextFile, faults);
  const plugins = pluginsFrom(sound.PLUGINS, sound.SUBGRAPH_COMPAT === true, datasources, faults);
  const chainIds = indexedChainIds(plugins, datasources);
  const rootChainId = datasources[rootDatasource]?.chainId ?? 0;
  // Without a namespace those that have URLs, whose faults are told with the others.
  const named = Object.keys(given).flatMap((name) => /^RPC_URL_(\d+)$/.exec(name)?.[1] ?? []);
  const withRoot = [...new Set([...chainIds, ...(sound.NAMESPACE ? [rootChainId] : named.map(Number))])];
  const chains = chainsFrom(sound, given, withRoot, faults).filter(({ id }) => chainIds.includes(id));
  faults.push(
    ...(sound.NAMESPACE ? namespaceFaults(sound.NAMESPACE, datasources, plugins) : []),
    ...listCombinationFaults(sound, given, chainIds),
  );
  if (faults.length > 0 || !parsed.success)
    throw new ConfigurationError([...faults, ...misspeltVariables(given)]);
  return {
    ...pickSettings(parsed.data),
    /** What operators may choose of the pages. */
    site: { ...pickSiteSettings(parsed.data), logo: siteLogo },
    datasources,
    /** Text of DATASOURCES_FILE. */
    datasourcesText: text,
    /** Hooks of WEBHOOKS_FILE; the words of their filters are not checked. */
    webhooks,
    referralEditions,
    /** Keys of API_KEYS_FILE, and its path; undefined without it. */
    apiKeys: apiKeys && { path: String(sound.API_KEYS_FILE), keys: apiKeys },
    plugins,
    rootChainId,
    /** In the order in which the plugins name them. */
    chains,
  };
}

/** The checked configuration. */
export type Config = ReturnType<typeof parseEnvironment>;

/** How the logs of each chain are checked, in words, by chain id. */
export function describeLogChecks({ chains, rpcCrossCheckPercent: percent }: Config): Record<string, string> {
  const words = percent === 0 ? "not at all" : percent === 100 ? "every log" : `sampled ${percent} %`;
  return Object.fromEntries(chains.map(({ id }) => [id, words]));
}

type ConfiguredRange = { startBlock?: number | undefined; endBlock?: number | undefined };

const pickMetadataSettings = (given: EnvironmentVariables) => ({
  url: given.METADATA_URL?.replace(/\/+$/, ""),
  folder: given.METADATA_CACHE_DIR,
  megabytes: given.METADATA_CACHE_MB,
  ipfsGateway: given.IPFS_GATEWAY_URL,
});

const pickSettings = (given: EnvironmentVariables) => ({
  namespace: given.NAMESPACE,
  isSubgraphCompatible: given.SUBGRAPH_COMPAT,
  labelSet: { labelSetId: given.LABEL_SET_ID, labelSetVersion: given.LABEL_SET_VERSION },
  labelsUrl: resolveLabelsUrl(given.LABELS_URL),
  /** Whether an index of a lower version of the label set is healed. */
  healsLabels: given.LABELS_HEAL,
  /** The version with which the index began, if it may be another; set by the launcher. */
  firstLabelSetVersion: given.FIRST_LABEL_SET_VERSION as number | undefined,
  /** Whether gateways of off-chain names may be in private networks and without TLS. */
  allowsPrivateGateways: given.CCIP_ALLOW_PRIVATE_HOSTS,
  /**
   * Avatars and metadata of tokens; undefined where they are off. `url`: where clients reach the service, if it is set.
   */
  metadata: given.METADATA ? pickMetadataSettings(given) : undefined,
  /** Blocks of the only chain to index. */
  blockRange: { startBlock: given.START_BLOCK, endBlock: given.END_BLOCK } as ConfiguredRange,
  /** Blocks of the root chain for which former rows are kept; undefined for those alone that are not final. */
  historyBlocks: given.HISTORY_BLOCKS === 0 ? undefined : given.HISTORY_BLOCKS,
  /** Requests per second at which each RPC URL starts; undefined for a default by kind of URL. */
  rpcRequestsPerSecond: given.RPC_REQUESTS_PER_SECOND,
  /** Percentage of log ranges that are asked of a second RPC URL too, if a chain has several. */
  rpcCrossCheckPercent: given.RPC_VERIFY === "receipts" ? 100 : given.RPC_CROSS_CHECK_PERCENT,
  /** Whether logs are refused unless receipts prove them. */
  needsProofs: given.RPC_VERIFY === "receipts",
  /** Whether RPC results are kept for later indexes. */
  keepsRpcCache: given.RPC_CACHE,
  /** Seconds for which the chains wait for one that has no new block. */
  chainPauseSeconds: given.CHAIN_PAUSE_SECONDS,
  /** Whether Ponder uses this project's stores of rows and RPC results, or its own. */
  ponderStores: given.PONDER_STORES,
  /** Approximate memory for rows that handlers use; the last used ones stay. */
  rowCacheMegabytes: given.ROW_CACHE_MB,
  /** Folder or URL of an archive to read blocks from before asking the RPC URLs. */
  archive: given.ARCHIVE,
  /** Where `archive record --from portal` finds datasets, and its key. */
  portal: { url: given.PORTAL_URL.replace(/\/+$/, ""), apiKey: given.PORTAL_API_KEY },
  databaseUrl: given.DATABASE_URL ?? privateServerUrl(given.DATABASE_FOLDER),
  /** Folder of the private Postgres server, which the launcher starts; undefined with DATABASE_URL. */
  databaseFolder: given.DATABASE_URL === undefined ? resolve(given.DATABASE_FOLDER) : undefined,
  /**
   * Whether a pooler lends sessions of the server to one transaction at a time, so that a connection has none of its
   * own.
   */
  sharesSessions: given.DATABASE_POOLER === "transaction",
  /** Servers that readers read from, those named first preferred; empty for that of `databaseUrl`. */
  readUrls: (given.DATABASE_READ_URLS ?? []) as readonly string[],
  /** How far the server of a reader may be behind the one that is furthest. */
  readLagSeconds: given.DATABASE_READ_LAG_SECONDS,
  /** Without DATABASE_SCHEMA the views schema, which only readers can use. */
  databaseSchema: given.DATABASE_SCHEMA ?? given.DATABASE_STABLE_SCHEMA ?? "public",
  /** Schema of views that readers are served from; `npm run db -- switch` points it to another index. */
  stableSchema: given.DATABASE_STABLE_SCHEMA,
  /** Whether this index takes over `stableSchema` once it has caught up. */
  switchesWhenReady: given.SWITCH_WHEN_READY,
  subgraphLimits: pickLimits(given),
  port: given.PORT,
  /** Address that the API listens on; undefined for all of the machine's. */
  host: given.API_HOST,
  /** Seconds for which a connection stays open between two requests. */
  keepAliveSeconds: given.KEEP_ALIVE_SECONDS,
  /** Base URLs of block explorers by chain id, in place of the usual ones. */
  explorers: given.BLOCK_EXPLORER_URLS ?? {},
  logLevel: given.LOG_LEVEL,
});

const pickSiteSettings = (given: EnvironmentVariables) => ({
  title: given.SITE_TITLE,
  color: given.SITE_COLOR,
  /** Where names are registered and renewed, with `{name}` in the place of the name. */
  registrationUrl: given.REGISTRATION_URL,
  /** Whether search engines may list the pages. */
  isIndexable: given.INDEXABLE,
});

const ofChain = /^(RPC_URL|TRUSTED_BLOCK)_\d+$/;

export const knownVariables: readonly string[] = [
  ...Object.keys(variables.shape),
  "LABELS_DATABASE",
  "LABELS_PORT",
  "LABELS_SERVER_URL",
  "DATABASE_VIEWS_SCHEMA",
];

/**
 * A sentence for each set variable that is unknown and close to a known one: probably it is misspelt, and has no
 * effect.
 */
export function misspeltVariables(environment: Environment): string[] {
  return Object.entries(environment).flatMap(([name, value]) => {
    if (!value?.trim() || name.length < 5 || knownVariables.includes(name) || ofChain.test(name)) return [];
    // Names of other programs are short, or differ in more.
    const near = /^RPC_?URLS?(_|\d|$)/i.test(name)
      ? "RPC_URL_<chain id>"
      : findNearest(
          name,
          knownVariables.filter((known) => known.length >= 6),
          name.length < 8 ? 1 : 2,
        );
    return near === undefined ? [] : [`${name} is not a setting and has no effect; did you mean ${near}?`];
  });
}

let configOfProcess: Config | undefined;

/** The configuration of this process, parsed on the first call. Throws a ConfigurationError. */
export function readConfig(): Config {
  configOfProcess ??= parseEnvironment(process.env, (path) => readFileSync(path, "utf8"));
  return configOfProcess;
}

function pickSoundVariables(
  given: Record<string, string>,
  error: z.ZodError | undefined,
): Partial<EnvironmentVariables> {
  const faulty = new Set(error?.issues.map((issue) => String(issue.path[0])));
  const others = Object.fromEntries(Object.entries(given).filter(([name]) => !faulty.has(name)));
  return { ...variables.partial().safeParse(others).data } as Partial<EnvironmentVariables>;
}

function readDatasources(
  { NAMESPACE, DATASOURCES_FILE }: Partial<EnvironmentVariables>,
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

/** The SVG document of a file; undefined without one, or with its fault added to `faults`. */
function readLogo(
  path: string | undefined,
  readTextFile: (path: string) => string,
  faults: string[],
): string | undefined {
  if (path === undefined) return undefined;
  try {
    const text = readTextFile(path);
    if (/<svg[\s>]/.test(text) && text.length <= maxLogoCharacters) return text;
    faults.push(`SITE_LOGO "${path}" must be an SVG document of at most ${maxLogoCharacters} characters.`);
  } catch (error) {
    faults.push(`SITE_LOGO "${path}" cannot be used: ${(error as Error).message}.`);
  }
  return undefined;
}

const maxLogoCharacters = 100_000;

/** Faults between variables that are valid by themselves. */
function listCombinationFaults(
  sound: Partial<EnvironmentVariables>,
  given: Environment,
  chainIds: readonly number[],
) {
  const {
    START_BLOCK: first,
    END_BLOCK: last,
    DATABASE_STABLE_SCHEMA: stable,
    LABEL_SET_ID = "subgraph",
  } = sound;
  const sets = sound.NAMESPACE === "ens-test-env" ? ["subgraph", "ens-test-env"] : ["subgraph"];
  // An unknown plugin is a fault of its own.
  const others = (sound.PLUGINS ?? "subgraph").split(",").map((id) => id.trim());
  const hasOthers = others.some((id) => id !== "subgraph" && pluginIds.some((plugin) => plugin === id));
  const isCompatible = sound.SUBGRAPH_COMPAT === true;
  const faults: [boolean, string][] = [
    [
      isCompatible && hasOthers,
      "SUBGRAPH_COMPAT=true works only with PLUGINS=subgraph. Set PLUGINS=subgraph or SUBGRAPH_COMPAT=false.",
    ],
    [
      isCompatible && !sets.includes(LABEL_SET_ID),
      `SUBGRAPH_COMPAT=true works only with label set ${sets.join(" or ")}. Fix LABEL_SET_ID.`,
    ],
    [
      (sound.QUICKNODE_API_KEY === undefined) !== (sound.QUICKNODE_ENDPOINT_NAME === undefined),
      "QUICKNODE_API_KEY and QUICKNODE_ENDPOINT_NAME go together. Set both or neither.",
    ],
    [
      (first ?? last) !== undefined && chainIds.length > 1,
      `START_BLOCK and END_BLOCK are for one chain, but the plugins index ${chainIds.length}. Leave them out or choose plugins of one chain.`,
    ],
    [
      first !== undefined && last !== undefined && last <= first,
      `END_BLOCK (${last}) must be greater than START_BLOCK (${first}).`,
    ],
    [
      sound.PONDER_STORES === "stock" && Boolean(sound.HISTORY_BLOCKS),
      "HISTORY_BLOCKS needs PONDER_STORES=own. Leave one of them out.",
    ],
    [
      sound.DATABASE_READ_URLS !== undefined && sound.DATABASE_POOLER === "transaction",
      "DATABASE_READ_URLS needs sessions. Name the servers or poolers in session mode, or give each reader one DATABASE_URL.",
    ],
    [
      sound.DATABASE_URL !== undefined && (sound.DATABASE_SCHEMA ?? stable) === undefined,
      "DATABASE_SCHEMA is missing. Each indexing service needs a schema of its own in the database, for example names_v1.",
    ],
    [
      stable !== undefined && [sound.DATABASE_SCHEMA, "public", "ponder_sync"].includes(stable),
      `DATABASE_STABLE_SCHEMA must differ from DATABASE_SCHEMA, public and ponder_sync, for example names; it is "${stable}".`,
    ],
    [
      sound.SWITCH_WHEN_READY === true && stable === undefined,
      "SWITCH_WHEN_READY=true requires DATABASE_STABLE_SCHEMA.",
    ],
    [
      given["DATABASE_VIEWS_SCHEMA"] !== undefined,
      "DATABASE_VIEWS_SCHEMA is not used. Set DATABASE_STABLE_SCHEMA.",
    ],
  ];
  return faults.flatMap(([isFault, message]) => (isFault ? [message] : []));
}

function isLabelsUrl(text: string): boolean {
  if (text.startsWith("file:")) return text.length > "file:".length;
  return isWebUrl(text);
}

// A relative path after `file:` is relative to the working directory; a URL alone would start at the root.
function resolveLabelsUrl(text: string): string {
  if (!text.startsWith("file:") || text.startsWith("file://")) return text;
  return pathToFileURL(resolve(text.slice("file:".length))).href;
}

function splitList(text: string): string[] {
  return text.split(",").map((one) => one.trim());
}

// URLs by chain id; anything else has a value that is no URL.
function parseExplorers(text: string): Readonly<Record<number, string>> {
  const pairs = splitList(text).map((one) => {
    const [, id = "0", url = ""] = /^([1-9]\d{0,14})=(.+)$/.exec(one) ?? [];
    return [Number(id), url] as const;
  });
  return Object.fromEntries(pairs);
}

const isWebUrl = (text: string) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);

/** URL of the private Postgres server in a folder, by its Unix socket. */
export const privateServerUrl = (folder: string) =>
  `postgresql://postgres@localhost:5432/postgres?host=${encodeURIComponent(resolve(folder))}`;

/** Whether a text is the URL of a Postgres database. */
export function isPostgresUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, port, pathname } = new URL(text);
  return /^postgres(ql)?:$/.test(protocol) && hostname !== "" && port !== "" && pathname.length > 1;
}

function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && username === "" && password === "";
}

// Relative luminance and contrast to white of WCAG 2.2.
function isDarkColor(text: string): boolean {
  if (!/^#[0-9a-f]{6}$/i.test(text)) return false;
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(text.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05) >= 4.5;
}

function isArchive(text = ""): boolean {
  return !text.includes("://") || (/^https?:/.test(text) && URL.canParse(text));
}

/** The environment cannot be used; the message lists every fault. */
export class ConfigurationError extends Refusal {
  override name = "ConfigurationError";
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(
      `Invalid configuration${faults.length === 1 ? "" : ` (${faults.length} faults)`}:\n${faults.map((fault) => `  - ${fault}`).join("\n")}`,
    );
    this.faults = faults;
  }
}
