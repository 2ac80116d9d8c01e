import type { Config } from "../../src/config/environment.ts";
import type { PluginId } from "../../src/config/plugins.ts";

// What an index takes, by figures that others published and by those of docs/performance.md and docs/archive.md.
// Where no count is known, both ends are given.

/** The ends between which a figure lies. */
export type Span = readonly [low: number, high: number];

const scale = ([low, high]: Span, by: number): Span => [low * by, high * by];
const add = (...spans: Span[]): Span =>
  spans.reduce(([low, high], [a, b]) => [low + a, high + b], [0, 0] as Span);
const max = ([a, b]: Span, [c, d]: Span): Span => [Math.max(a, c), Math.max(b, d)];

type Count = { logs: Span; source: string };

/** Logs of the plugin `subgraph` by namespace. */
const logsOfSubgraph: Partial<Record<Config["namespace"], Count>> = {
  mainnet: {
    logs: [23_856_957, 23_856_957],
    source: "events of ENSNode's subgraph plugin in June 2026 (namehash/ensnode issue 2079)",
  },
  sepolia: { logs: [1_530_000, 1_530_000], source: "events on Sepolia (namehash/ensnode pull request 2061)" },
  "sepolia-v2": { logs: [0, 1_530_000], source: "no published count; at most as many as Sepolia" },
};

/** Logs that other plugins on mainnet add at least, and all of them together at most. */
const logsOfOthers = {
  // NewOwner, Transfer and NameRegistered of each of 3.67 M registrations.
  least: { basenames: 11_010_000 } as Partial<Record<PluginId, number>>,
  // All 273.4 M handled events of six chains.
  most: 273_400_000 - 23_856_957,
  source: "registrations and handled events of six chains in June 2026 (namehash/ensnode issue 2079)",
};
/** Plugins that read the same logs as `subgraph` on the root chain. */
const readSameLogs: readonly PluginId[] = ["subgraph", "registrars"];

/** Logs in a block with logs: 13 blocks of January 2022, and 10 M blocks of mainnet. */
const logsPerBlock: Span = [2.4, 7];
const logsPerBlockOfBench = 25;

/** Logs per second: handled on the machine of docs/performance.md, and received from a portal. */
const rates = { subgraph: 11_700, more: 5_900, portal: [490, 9_100] as Span };
/** Requests per second at which Ponder starts with a URL, and its limit. */
const rpcRates: Span = [20, 500];
const bytesPerLog = { subgraph: 758, multichain: 791, more: 1_313, cache: 757, archive: 88 };
const headerBytes = { archive: 546, cache: 1_600 };
/** Bytes of JSON per block with its transactions. */
const blockBytes: Span = [100_000, 400_000];
const labelsGigabytes = 4;
const lineBytesPerSecond = 100e6 / 8;
/** Blocks that a request for logs covers. */
const blocksPerRequest: Span = [2_000, 10_000];

/** Prices of November 2026: units of a request for logs and for a block, and what units cost. */
export const providers = [
  {
    name: "Alchemy",
    logs: 60,
    block: 20,
    dollarsPerMillion: 0.45,
    note: "free plan: 10 blocks of logs a request",
  },
  { name: "Infura", logs: 255, block: 80, perDay: 15_000_000, note: "Developer plan" },
  { name: "QuickNode", logs: 20, block: 20, monthly: { units: 80_000_000, dollars: 49 }, note: "Build plan" },
  { name: "dRPC", logs: 60, block: 60, dollarsPerMillion: 0.3, note: "free: 210 M units in 30 days" },
  { name: "Google", logs: 50, block: 1, perDay: 1_000_000, note: "free" },
] as const satisfies readonly Provider[];

type Provider = {
  name: string;
  logs: number;
  block: number;
  dollarsPerMillion?: number;
  monthly?: { units: number; dollars: number };
  perDay?: number;
  note: string;
};

/** Units, and dollars or days, of a number of requests at a provider. */
export function priceRequests(provider: Provider, requests: { logs: number; blocks: number }) {
  const units = requests.logs * provider.logs + requests.blocks * provider.block;
  const { dollarsPerMillion, monthly, perDay } = provider;
  return {
    units,
    ...(dollarsPerMillion !== undefined && { dollars: (units / 1e6) * dollarsPerMillion }),
    ...(monthly && { dollars: Math.ceil(units / monthly.units) * monthly.dollars }),
    ...(perDay !== undefined && { days: units / perDay }),
  };
}

/** What is known of a configuration and its machine; undefined where nothing was measured. */
export type Facts = Pick<Config, "namespace" | "plugins" | "isSubgraphCompatible" | "needsProofs"> & {
  /** Blocks of all chains, each as often as a request for its logs has to name it. */
  blocks: number;
  hasLabelsFile: boolean;
  /** Speed in ratio to the machine of docs/performance.md. */
  processor: number;
  diskBytesPerSecond?: number | undefined;
  rpcPerSecond?: number | undefined;
  largestRange?: number | undefined;
};

/** Logs of a configuration, and where the counts are from; undefined if nothing is known. */
export function countLogs({ namespace, plugins }: Pick<Facts, "namespace" | "plugins">): Count | undefined {
  const own = logsOfSubgraph[namespace];
  if (own === undefined) return undefined;
  const others = plugins.filter((id) => !readSameLogs.includes(id));
  const base: Span = plugins.length > others.length ? own.logs : [0, 0];
  if (others.length === 0 || namespace !== "mainnet") return { logs: base, source: own.source };
  const least = others.reduce((sum, id) => sum + (logsOfOthers.least[id] ?? 0), 0);
  return { logs: add(base, [least, logsOfOthers.most]), source: `${own.source}; ${logsOfOthers.source}` };
}

/** Hours, requests, prices and gigabytes of an index; the three ways lead to the same index. */
export function estimate(facts: Facts, { logs }: Count) {
  const hasMore = facts.plugins.some((id) => id !== "subgraph");
  const blocks: Span = [logs[0] / logsPerBlock[1], logs[1] / logsPerBlock[0]];
  const disk = estimateDisk(facts, logs, blocks, hasMore);
  const rate = (hasMore ? rates.more : rates.subgraph) * facts.processor;
  // Postgres writes its log and its tables.
  const written = scale(add(disk.index, disk.cache), 2e9 / (facts.diskBytesPerSecond ?? Infinity));
  const indexing = scale(max(scale(logs, 1 / rate), written), 1 / 3_600);
  const ranges =
    facts.largestRange === undefined ? blocksPerRequest : [facts.largestRange, facts.largestRange];
  const proofs = facts.needsProofs ? { logs: 2, blocks: 3 } : { logs: 1, blocks: 1 };
  const [shortest = 1, longest = 1] = ranges;
  // Ranges are split where a response is too long: up to twice as many.
  const ofLogs: Span = [facts.blocks / longest, (2 * facts.blocks) / shortest];
  const requests = { logs: scale(ofLogs, proofs.logs), blocks: scale(blocks, proofs.blocks) };
  const [low, high] = facts.rpcPerSecond === undefined ? rpcRates : [facts.rpcPerSecond, facts.rpcPerSecond];
  const all = add(requests.logs, requests.blocks);
  const received: Span = [blocks[0] * blockBytes[0], blocks[1] * blockBytes[1]];
  return {
    ...{ logs, blocks, disk, requests },
    memoryGigabytes: hasMore ? 2.4 : 1.1,
    receivedGigabytes: scale(received, 1e-9),
    hours: {
      fetched: add(indexing, scale(disk.archive, 1e9 / lineBytesPerSecond / 3_600)),
      recorded: add(indexing, [logs[0] / rates.portal[1] / 3_600, logs[1] / rates.portal[0] / 3_600]),
      rpc: max(indexing, [all[0] / high / 3_600, all[1] / low / 3_600]),
    },
    prices: providers.map((provider) => {
      const end = (index: 0 | 1) =>
        priceRequests(provider, { logs: requests.logs[index], blocks: requests.blocks[index] });
      return { ...provider, low: end(0), high: end(1) };
    }),
  };
}

/** What an index takes and costs. */
export type Estimate = ReturnType<typeof estimate>;

/** Gigabytes by part. */
function estimateDisk(facts: Facts, logs: Span, blocks: Span, hasMore: boolean) {
  const { more, subgraph, multichain, cache, archive } = bytesPerLog;
  const bytes = hasMore ? more : facts.isSubgraphCompatible ? subgraph : multichain;
  // Fewer logs in a block than where the bytes of a log were measured leave more headers.
  const withHeaders = (ofLog: number, ofHeader: number, measured: number): Span => {
    const end = (index: 0 | 1) =>
      (logs[index] * ofLog + (blocks[index] - logs[index] / measured) * ofHeader) / 1e9;
    return [end(0), end(1)];
  };
  return {
    index: scale(logs, bytes / 1e9),
    cache: withHeaders(cache, headerBytes.cache, logsPerBlockOfBench),
    archive: withHeaders(archive, headerBytes.archive, logsPerBlock[1]),
    labels: [facts.hasLabelsFile ? labelsGigabytes : 0, facts.hasLabelsFile ? labelsGigabytes : 0] as Span,
  };
}
