import type { Hex } from "viem";
import { rootNode } from "../../ens/ids.ts";
import { keccak256 } from "../../ens/keccak.ts";
import { namehash, namesAbove } from "../../ens/names.ts";
import { nameValue } from "../../ens/record-values.ts";
import {
  coinTypeOfChain,
  defaultEvmCoinType,
  parseReverseName,
  reverseName,
} from "../../ens/reverse-names.ts";
import type { Database } from "../database/client.ts";
import { type ChainReader, liveRecords } from "./chain-reader.ts";
import {
  aliasedLabels,
  indexedRecords,
  indexedResolver,
  indexedReverseName,
  liveSelection,
  recordsOfLink,
  recordsOfNode,
} from "./indexed-records.ts";
import type { KnownContracts, Registry } from "./known-contracts.ts";
import { emptySelection, isEmptySelection, type Records, type Selection, unsetRecords } from "./selection.ts";
import type { Tracer } from "./trace.ts";
import { pathOf, readV2Names, type V2Contracts } from "./v2-names.ts";

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
    const rest = liveSelection(selection);
    const live = isEmptySelection(rest) ? {} : await execute(reader, target, rest, within);
    return { ...indexedRecords(records, selection, { hasDefaultAddress: true }), ...live };
  });
}

async function recordsInV2(
  { database, ensv2, signal }: { database: Database; ensv2: { contracts: V2Contracts }; signal: AbortSignal },
  {
    resolver,
    kind,
    labels,
  }: { resolver: Hex; kind: "public" | "nodes" | "records" | "none"; labels: string[] },
  { addresses, texts: textKeys }: Selection,
) {
  const { chainId } = ensv2.contracts;
  const bytes = labels.map((label) => Buffer.from(label));
  const read =
    kind === "nodes" ? await aliasedLabels(database, { chainId, resolver, labels: bytes }, signal) : bytes;
  if (read === undefined) return undefined;
  const node = pathOf(read.map((label) => keccak256(label))).nodes.at(-1) ?? rootNode;
  const selected = { chainId, resolver, node, coinTypes: [...addresses, defaultEvmCoinType], textKeys };
  return kind === "records"
    ? recordsOfLink(database, selected, signal)
    : recordsOfNode(database, selected, signal);
}

async function resolveLive(
  { reader, known }: Resolution,
  { name, selection }: Request,
  tracer: Tracer,
): Promise<Records> {
  const found = await tracer.span(forwardProtocol, "find-resolver", { name }, async (within) => {
    const answer = await reader.findResolver(name);
    within.result(answer?.resolver ?? null);
    return answer;
  });
  if (!(await isThere(found, tracer)) || found === undefined) return unsetRecords(selection);
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
  const found = await tracer.span(forwardProtocol, "find-resolver", { name, ...registry }, async (within) => {
    const [node, ...above] = namesAbove(name).map(namehash);
    if (node === undefined) return undefined;
    const { addresses, texts: textKeys } = selection;
    // The default address is for resolvers that fall back to it.
    const coinTypes = [...addresses, defaultEvmCoinType];
    const answer = await indexedResolver(
      database,
      { registry, nodes: [node, ...above], coinTypes, textKeys },
      signal,
    );
    within.result(answer?.resolver ?? null);
    return answer;
  });
  if (!(await isThere(found, tracer)) || found === undefined) return unsetRecords(selection);

  const { chainId } = registry;
  const { resolver, place } = found;
  const target = { chainId, resolver, name, isWildcard: place > 0 };

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
    async (within) => {
      if (target.isWildcard && !fixed.isExtended) return unsetRecords(selection);
      const rest = liveSelection(selection);
      const live = isEmptySelection(rest) ? {} : await execute(reader, target, rest, within);
      return { ...indexedRecords(found.records, selection, fixed), ...live };
    },
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

async function isThere(found: { resolver: Hex } | undefined, tracer: Tracer): Promise<boolean> {
  return tracer.span(forwardProtocol, "active-resolver-exists", {}, async (within) => {
    within.result(found !== undefined);
    return found !== undefined;
  });
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
        const selection = { ...emptySelection(), name: true };
        const records = await resolveRecords(resolution, { name: reverse, selection }, step);
        return records.name ?? null;
      },
    );
    const hasName = await within.span(reverseProtocol, "name-record-exists-check", {}, async (step) => {
      step.result(name !== null);
      return name !== null;
    });
    if (!hasName || name === null) return null;

    const found = await within.span(
      reverseProtocol,
      "forward-resolve-address-record",
      { name },
      async (step) => {
        const selection = { ...emptySelection(), addresses: [coinType] };
        const records = await resolveRecords(resolution, { name, selection }, step);
        return records.addresses?.[String(coinType)] ?? null;
      },
    );
    return within.span(
      reverseProtocol,
      "verify-resolved-address-matches-address",
      { found },
      async (step) => {
        const isSame = found === address;
        step.result(isSame);
        return isSame ? name : null;
      },
    );
  });
}
