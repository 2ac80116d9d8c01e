import type { Hex } from "viem";
import { namesAbove, nodeOfName } from "../../ens/names.ts";
import { nameValue } from "../../ens/record-values.ts";
import {
  coinTypeOfChain,
  defaultEvmCoinType,
  parseReverseName,
  reverseName,
} from "../../ens/reverse-names.ts";
import type { Database } from "../database/client.ts";
import { type ChainReader, liveRecords } from "./chain-reader.ts";
import { indexedRecords, indexedResolver, indexedReverseName, liveSelection } from "./indexed-records.ts";
import type { KnownContracts, Registry } from "./known-contracts.ts";
import { emptySelection, isEmptySelection, type Records, type Selection, unsetRecords } from "./selection.ts";
import type { Tracer } from "./trace.ts";

/** What one request resolves with. Without `database` the index is not used. */
export type Resolution = {
  known: KnownContracts;
  reader: ChainReader;
  database: Database | undefined;
  signal: AbortSignal;
};

type Request = { name: string; selection: Selection };

const forwardProtocol = "forward-resolution";

/**
 * The selected records of a name, starting at the root registry (ENSIP-10): from the index as far as the resolver is one
 * whose responses follow from its events, else from the resolver itself. Throws UnavailableError.
 */
export function resolveRecords(resolution: Resolution, request: Request, tracer: Tracer): Promise<Records> {
  const inputs = { name: request.name };
  return tracer.span(forwardProtocol, "forward-resolution", inputs, (within) =>
    resolution.database === undefined
      ? resolveLive(resolution, request, within)
      : resolveFrom({ ...resolution, database: resolution.database }, resolution.known.root, request, within),
  );
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
    const [node, ...above] = namesAbove(name).map(nodeOfName);
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
