import { headerHash } from "../rpc/block-proofs.ts";
import { matches, type RpcLog } from "../rpc/log-answers.ts";
import { type BlockRange, toHex } from "../rpc/nodes.ts";
import { blockDifferences, differencesAt } from "./check.ts";
import { openManifest } from "./folder.ts";
import { ArchiveError, factoryKey, findGaps, type Gap, type Manifest, queryOfFilter } from "./manifest.ts";
import {
  type Dataset,
  type PortalBlock,
  type PortalQuery,
  readDatasetRange,
  streamBlocks,
} from "./portal-stream.ts";
import { archivedBlock, type BlockSource, closeGaps, logsOfSegment, type RecordOptions } from "./record.ts";
import { type ArchivedBlock, keptFields, parseBlock, rpcLogs } from "./segment.ts";

const datasets: Readonly<Record<number, string>> = {
  1: "ethereum-mainnet",
  10: "optimism-mainnet",
  8453: "base-mainnet",
  17000: "ethereum-holesky",
  42161: "arbitrum-one",
  59144: "linea-mainnet",
  84532: "base-sepolia",
  421614: "arbitrum-sepolia",
  534351: "scroll-sepolia",
  534352: "scroll-mainnet",
  11155111: "ethereum-sepolia",
  11155420: "optimism-sepolia",
};

/** The dataset of a chain at a portal, by SQD's names of chains; undefined if none is known. */
export function findDataset(
  { url, apiKey }: Pick<Dataset, "url" | "apiKey">,
  chainId: number,
): Dataset | undefined {
  const name = datasets[chainId];
  return name === undefined ? undefined : { url: `${url}/datasets/${name}`, apiKey };
}

type PortalOptions = Omit<RecordOptions, "withReceipts" | "width"> & {
  dataset: Dataset;
  log: (line: string) => void;
  random?: () => number;
};

/**
 * Records what an archive lacks of a range from a portal, as far as its dataset goes. The nodes confirm the dataset's
 * newest block, and some blocks of each segment. Throws an ArchiveError if they differ; nothing of the segment is then
 * stored.
 */
export async function recordFromPortal(options: PortalOptions): Promise<Manifest> {
  const { folder, chainId, filters, range, dataset, progress, log } = options;
  const manifest = await openManifest(folder, chainId);
  const known = await readDatasetRange(dataset);
  const there = { from: Math.max(range.from, known.first), to: Math.min(range.to, known.last) };
  const { host } = new URL(dataset.url);
  log(`${host} has blocks ${known.first} to ${known.last} of chain ${chainId}`);
  if (there.from > there.to) return manifest;
  if (there.to === known.last) await requireSameChain(options, { number: known.last, hash: known.hash });
  await closeGaps(folder, manifest, {
    gaps: findGaps(manifest, filters, there),
    source: createSource(options, manifest),
    verify: (blocks, gap) => verifyBlocks(options, manifest, { ...gap, blocks }),
    progress,
  });
  return manifest;
}

async function requireSameChain(
  { ask, dataset, chainId }: PortalOptions,
  { number, hash }: { number: number; hash: string },
): Promise<void> {
  const block = (await ask({ method: "eth_getBlockByNumber", params: [toHex(number), false] })) as {
    hash?: string;
  } | null;
  if (block?.hash === hash) return;
  throw new ArchiveError(
    `Block ${number} of chain ${chainId} is ${hash} at ${new URL(dataset.url).host}, ${block?.hash ?? "not there"} at the node: one of them serves another chain.`,
  );
}

// --- Blocks of a stream ---

// `size` is too low for large blocks there, and neither hashed nor read.
const headerFieldsOfPortal = keptFields.filter((field) => field !== "size");
const required = ["number", "hash", "parentHash", "logsBloom"];
const fields = {
  block: headerFieldsOfPortal,
  log: ["logIndex", "transactionIndex", "transactionHash", "address", "topics", "data"],
  transaction: ["transactionIndex", "hash", "from", "to"],
};
const optional = headerFieldsOfPortal.filter((field) => !required.includes(field));

// One stream for a gap: a segment takes the next blocks of it.
function createSource(options: PortalOptions, manifest: Manifest): BlockSource {
  let open: { next: number; stream: AsyncGenerator<PortalBlock> } | undefined;
  return async (gap) => {
    if (open?.next !== gap.from) open = { next: gap.from, stream: await openStream(options, manifest, gap) };
    const blocks: ArchivedBlock[] = [];
    const queries = gap.filters.map((filter) => queryOfFilter(manifest, filter, gap));
    for (let logs = 0; logs < logsOfSegment; ) {
      const { value, done } = await open.stream.next();
      if (done) break;
      open.next = value.header.number + 1;
      // A header alone marks how far the stream came.
      if (value.logs.length === 0) continue;
      const block = readBlock(options, value, (log) => queries.some((query) => matches(log, query)));
      logs += block.logs.length;
      if (block.logs.length > 0) blocks.push(block);
    }
    return { blocks, end: open.next - 1 };
  };
}

// More contracts than this are asked for by events alone.
const maxAddresses = 1_000;

async function openStream(options: PortalOptions, manifest: Manifest, gap: Gap) {
  const items: Record<string, unknown>[] = [];
  for (const { addresses, topics } of gap.filters) {
    const contracts =
      addresses === null || Array.isArray(addresses)
        ? addresses
        : await findDeployed(options, manifest, { ...gap, addresses });
    // The protocol takes an empty list for "none", and a list that is left out for "all".
    const isNamed = contracts !== null && contracts.length <= maxAddresses;
    items.push({
      ...(isNamed && { address: contracts }),
      ...(topics && { topic0: topics }),
      transaction: true,
    });
  }
  return streamBlocks(options.dataset, gap, { fields, optional, logs: items });
}

type Factory = { factory: string; event: string };

/** The contracts that a factory deployed up to the end of a range; adds them to the manifest. */
async function findDeployed(
  { dataset, factories }: PortalOptions,
  manifest: Manifest,
  { from, to, addresses: { factory, event } }: BlockRange & { addresses: Factory },
): Promise<string[]> {
  const key = factoryKey({ factory, event });
  const logs: PortalQuery["logs"] = [{ address: [factory], topic0: [event] }];
  const found = new Set(manifest.children[key]);
  const query = { fields: { ...fields, block: required, transaction: [] }, optional: [], logs };
  for await (const { header, logs } of streamBlocks(dataset, { from, to }, query))
    for (const log of logs) {
      const child = factories.get(key)?.(toRpcLog(header, log));
      if (child !== undefined) found.add(child);
    }
  manifest.children[key] = [...found];
  return [...found];
}

const toQuantity = (value: unknown) => (typeof value === "number" && value >= 0 ? toHex(value) : value);

const toRpcLog = ({ number, hash }: PortalBlock["header"], log: Record<string, unknown>) =>
  ({
    ...log,
    logIndex: toQuantity(log["logIndex"]),
    transactionIndex: toQuantity(log["transactionIndex"]),
    blockNumber: toHex(number),
    blockHash: hash,
  }) as RpcLog;

/** A block in its archived form with the wanted logs. */
function readBlock(
  { dataset }: PortalOptions,
  { header, logs, transactions }: PortalBlock,
  isWanted: (log: RpcLog) => boolean,
): ArchivedBlock {
  const whole = Object.fromEntries(Object.entries(header).map(([name, value]) => [name, toQuantity(value)]));
  const block = parseBlock({
    header: whole,
    transactions: transactions.map((one) => ({
      to: null,
      ...one,
      transactionIndex: toQuantity(one["transactionIndex"]),
    })),
    logs: logs.map((log) => toRpcLog(header, log)),
  });
  if (block === undefined)
    throw new ArchiveError(`${new URL(dataset.url).host} sent block ${header.number} in another form.`);
  return archivedBlock(
    { ...block.header, transactions: block.transactions },
    rpcLogs(block).filter(isWanted),
  );
}

// --- Checks ---

// So many blocks whose hash cannot be recomputed are compared with a node, then this share of them.
const [firstCompared, comparedShare] = [20, 0.01];

/**
 * Compares blocks of a segment with the nodes: the last, a random one with the logs before it, and those whose header
 * does not hash to its hash, which the dataset has changed, or of which it lacks a field of a later fork.
 */
async function verifyBlocks(
  { ask, log, random = Math.random }: PortalOptions,
  manifest: Manifest,
  { blocks, ...gap }: Gap & { blocks: readonly ArchivedBlock[] },
): Promise<void> {
  const last = blocks.length - 1;
  const drawn = Math.floor(random() * blocks.length);
  const unhashed = blocks.filter(({ header }) => headerHash(header) !== header.hash);
  if (unhashed.length > 0)
    log(
      `From block ${Number(unhashed[0]?.header.number)} on, ${unhashed.length} of ${blocks.length} headers lack a field: level bloom.`,
    );
  const compared = unhashed.filter((_, index) => index < firstCompared || random() < comparedShare);
  const problems = await Promise.all(compared.map((block) => blockDifferences(ask, "portal", block)));
  const queries = gap.filters.map((filter) => queryOfFilter(manifest, filter, gap));
  for (const index of new Set(blocks.length > 0 ? [drawn, last] : []))
    problems.push(await differencesAt(ask, "portal", { blocks, index, range: gap, queries }));
  const [problem] = problems.flat();
  if (problem !== undefined) throw new ArchiveError(`The portal is wrong, or the node: ${problem}`);
}
