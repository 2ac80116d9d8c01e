import type { Hex } from "viem";
import { keccak256 } from "../../ens/keccak.ts";
import { namehash, namesAbove } from "../../ens/names.ts";
import { nameValue } from "../../ens/record-values.ts";
import { coinTypeOfChain, parseReverseName, reverseName } from "../../ens/reverse-names.ts";
import type { Database } from "../database/client.ts";
import { type ChainReader, liveRecords } from "./chain-reader.ts";
import {
  type IndexedRecords,
  indexedRecords,
  indexedResolver,
  indexedReverseName,
  liveSelection,
  recordsOfNode,
} from "./indexed-records.ts";
import type { KnownContracts, Registry } from "./known-contracts.ts";
import { isEmptySelection, type Records, type Selection, unsetRecords } from "./selection.ts";
import type { Tracer } from "./trace.ts";
import { pathOf, readV2Names, type V2Contracts } from "./v2-names.ts";
import { labelOf, nodeOf, type Reading, readStored, withoutAliases } from "./v2-records.ts";

/** What one request resolves with. Without `database` the index is not used. */
export type Resolution = {
  known: KnownContracts;
  reader: ChainReader;
  database: Database | undefined;
  signal: AbortSignal;
  /** The registries of ENSv2 where these are in force, and the index's time (Unix seconds). */
  ensv2?: { contracts: V2Contracts; time: number } | undefined;
};

type Request = { name: string; selection: Selection };

const forwardProtocol = "forward-resolution";

/**
 * The selected records of a name, starting at the root registry (ENSIP-10): from the index as far as the resolver is one
 * whose responses follow from its events, else from the resolver itself. Throws UnavailableError.
 */
export function resolveRecords(resolution: Resolution, request: Request, tracer: Tracer): Promise<Records> {
  const inputs = { name: request.name };
  return tracer.span(forwardProtocol, "forward-resolution", inputs, (within) => {
    const { database, ensv2, known } = resolution;
    if (database === undefined) return resolveLive(resolution, request, within);
    if (ensv2 === undefined) return resolveFrom({ ...resolution, database }, known.root, request, within);
    return resolveInV2({ ...resolution, database, ensv2 }, request, within);
  });
}

// From the registries in registries. What the first generation still holds is read there.
async function resolveInV2(
  resolution: Resolution & { database: Database; ensv2: { contracts: V2Contracts; time: number } },
  request: Request,
  tracer: Tracer,
): Promise<Records> {
  const { database, known, reader, signal, ensv2 } = resolution;
  const { name, selection } = request;
  const labels = name === "" ? [] : name.split(".");
  const found = await tracer.span(forwardProtocol, "find-resolver", { name }, async (within) => {
    const paths = [pathOf(labels.map((label) => keccak256(label)))];
    const [answer] = await readV2Names(
      database,
      ensv2.contracts,
      { paths, time: ensv2.time, hasV1: false },
      signal,
    );
    within.result(answer?.isProven ? answer.resolver : null);
    return answer;
  });
  // Only the chain knows what a registry of unknown code returns.
  if (found?.isProven === false) return resolveLive(resolution, request, tracer);
  const hasResolver = found !== undefined && found.resolverKind !== "none";
  if (!(await isThere(hasResolver ? found : undefined, tracer)) || !hasResolver)
    return unsetRecords(selection);

  const { resolver, resolverKind: kind } = found;
  const { chainId } = ensv2.contracts;
  const target = { chainId, resolver, name, isWildcard: found.resolverLevel < labels.length };
  if (kind === "v1") return resolveFrom(resolution, known.root, request, tracer);
  if (kind === "unknown" || !known.indexedChains.has(chainId))
    return execute(reader, target, selection, tracer);
  return tracer.span(forwardProtocol, "accelerate-ensv2-resolver", { resolver }, async (within) => {
    if (target.isWildcard && kind === "public") return unsetRecords(selection);
    const records = await recordsInV2(resolution, { resolver, kind, labels }, selection);
    if (records === undefined) return execute(reader, target, selection, within);
    return completed(records, { hasDefaultAddress: true }, reader, target, selection, within);
  });
}

async function recordsInV2(
  { database, ensv2, signal }: { database: Database; ensv2: { contracts: V2Contracts }; signal: AbortSignal },
  {
    resolver,
    kind,
    labels,
  }: { resolver: Hex; kind: "public" | "nodes" | "records" | "none"; labels: string[] },
  selection: Selection,
): Promise<IndexedRecords | null | undefined> {
  const { chainId } = ensv2.contracts;
  const asked: Reading = {
    ...{ at: 0, resolver, kind: kind === "records" ? kind : "nodes" },
    labels: labels.map((label) => labelOf(Buffer.from(label))),
  };
  const read = await withoutAliases(database, { chainId, readings: [asked] }, signal);
  const [reading] = read;
  if (reading === undefined) return undefined;
  if (kind === "records") {
    const [stored] = await readStored(database, { chainId, hasRecords: true, read }, signal);
    return stored?.set ?? null;
  }
  return recordsOfNode(database, { chainId, resolver, node: nodeOf(reading.labels), selection }, signal);
}

async function resolveLive(
  { reader, known }: Resolution,
  { name, selection }: Request,
  tracer: Tracer,
): Promise<Records> {
  const found = await findResolver(tracer, { name }, () => reader.findResolver(name));
  if (found === undefined) return unsetRecords(selection);
  return execute(reader, { chainId: known.root.chainId, name, ...found }, selection, tracer);
}

async function resolveFrom(
  resolution: Resolution & { database: Database },
  registry: Registry,
  request: Request,
  tracer: Tracer,
): Promise<Records> {
  const { database, known, reader, signal } = resolution;
  const { name, selection } = request;
  const [node, ...above] = namesAbove(name).map(namehash);
  const found = await findResolver(tracer, { name, ...registry }, async () =>
    node === undefined
      ? undefined
      : indexedResolver(database, { registry, nodes: [node, ...above], selection }, signal),
  );
  if (found === undefined) return unsetRecords(selection);

  const { chainId } = registry;
  const { resolver, place: index } = found;
  const target = { chainId, resolver, name, isWildcard: index > 0 };

  if (known.isReverseResolver(chainId, resolver)) {
    return tracer.span(forwardProtocol, "accelerate-ensip-19-reverse-resolver", { resolver }, () =>
      reverseRecords(database, request, signal),
    );
  }
  const bridge = known.bridgeOf(chainId, resolver);
  if (bridge !== undefined) {
    return tracer.span(forwardProtocol, "accelerate-known-offchain-lookup-resolver", { resolver }, (within) =>
      resolveFrom(resolution, bridge, request, within),
    );
  }
  const fixed = known.staticResolverOf(chainId, resolver);
  if (fixed === undefined || !known.indexedChains.has(chainId)) {
    return execute(reader, target, selection, tracer);
  }
  return tracer.span(
    forwardProtocol,
    "accelerate-known-onchain-static-resolver",
    { resolver },
    async (within) =>
      target.isWildcard && !fixed.isExtended
        ? unsetRecords(selection)
        : completed(found.records, fixed, reader, target, selection, within),
  );
}

// A reverse resolver has names only.
async function reverseRecords(
  database: Database,
  { name, selection }: Request,
  signal: AbortSignal,
): Promise<Records> {
  const account = parseReverseName(name);
  const raw =
    account === undefined || !selection.name
      ? undefined
      : await indexedReverseName(database, account, signal);
  const records = unsetRecords(selection);
  return selection.name ? { ...records, name: raw === undefined ? null : nameValue(raw) } : records;
}

// A step whose outcome is known.
const check = (tracer: Tracer, step: [protocol: string, name: string], inputs: object, outcome: boolean) =>
  tracer.span(...step, { ...inputs }, async (within) => {
    within.result(outcome);
    return outcome;
  });

const isThere = (found: { resolver: Hex } | undefined, tracer: Tracer) =>
  check(tracer, [forwardProtocol, "active-resolver-exists"], {}, found !== undefined);

async function findResolver<T extends { resolver: Hex }>(
  tracer: Tracer,
  inputs: Record<string, unknown>,
  find: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const found = await tracer.span(forwardProtocol, "find-resolver", inputs, async (within) => {
    const answer = await find();
    within.result(answer?.resolver ?? null);
    return answer;
  });
  await isThere(found, tracer);
  return found;
}

// What the index has of a resolver's records, and the rest from the resolver.
async function completed(
  records: IndexedRecords | null,
  { hasDefaultAddress }: { hasDefaultAddress: boolean },
  ...[reader, target, selection, tracer]: Parameters<typeof execute>
): Promise<Records> {
  const rest = liveSelection(selection);
  const live = isEmptySelection(rest) ? {} : await execute(reader, target, rest, tracer);
  return { ...indexedRecords(records, selection, { hasDefaultAddress }), ...live };
}

function execute(
  reader: ChainReader,
  target: Parameters<typeof liveRecords>[1],
  selection: Selection,
  tracer: Tracer,
): Promise<Records> {
  return tracer.span(forwardProtocol, "execute-resolve-calls", target, () =>
    liveRecords(reader, target, selection),
  );
}

const reverseProtocol = "reverse-resolution";

/**
 * The name that an account gave itself on a chain, if the name's address there is the account (ENSIP-19); else null.
 * Chain 0 stands for all EVM chains without a name of their own. Throws UnavailableError.
 */
export function primaryName(
  resolution: Resolution,
  { address, chainId }: { address: Hex; chainId: number },
  tracer: Tracer,
): Promise<string | null> {
  return tracer.span(reverseProtocol, "reverse-resolution", { address, chainId }, async (within) => {
    const coinType = coinTypeOfChain(chainId);
    const reverse = reverseName({ address, coinType });
    const name = await within.span(
      reverseProtocol,
      "resolve-reverse-name",
      { name: reverse },
      async (step) => {
        const selection = { name: true };
        const records = await resolveRecords(resolution, { name: reverse, selection }, step);
        return records.name ?? null;
      },
    );
    await check(within, [reverseProtocol, "name-record-exists-check"], {}, name !== null);
    if (name === null) return null;

    const found = await within.span(
      reverseProtocol,
      "forward-resolve-address-record",
      { name },
      async (step) => {
        const selection = { addresses: [coinType] };
        const records = await resolveRecords(resolution, { name, selection }, step);
        return records.addresses?.[String(coinType)] ?? null;
      },
    );
    const step = [reverseProtocol, "verify-resolved-address-matches-address"] as [string, string];
    return (await check(within, step, { found }, found === address)) ? name : null;
  });
}
