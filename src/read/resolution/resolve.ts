import { type Hex, toCoinType } from "viem";
import { namehash, namesAbove } from "../../ens/names.ts";
import { nameRecord, nameValue } from "../../ens/record-values.ts";
import { parseReverseName, reverseName } from "../../ens/reverse-names.ts";
import {
  type IndexedRecords,
  indexedRecords,
  indexedResolver,
  indexedReverseName,
} from "../names/indexed-records.ts";
import type { KnownContracts, Registry } from "../names/known-contracts.ts";
import { isEmptySelection, type Records, type Selection, unsetRecords } from "../names/selection.ts";
import { kindOfResolver, readV2Names, type V2Contracts } from "../names/v2-names.ts";
import { readV2Records } from "../names/v2-records.ts";
import { parseNamePath } from "../names/v2-walk.ts";
import type { Database } from "../sql/client.ts";
import { type ChainReader, liveRecords } from "./chain-reader.ts";
import { span } from "./trace.ts";

// Records and primary names, from the index or from the chain. The rows of names are read in src/read/names, and HTTP
// is in src/api.

/** What one request resolves with. Without `database` it does not use the index. */
export type Resolution = {
  known: KnownContracts;
  reader: ChainReader;
  database: Database | undefined;
  signal: AbortSignal;
  /** The ENSv2 contracts where they are in force, and the index's time (Unix seconds). */
  ensv2?: { contracts: V2Contracts; time: number } | undefined;
};

type Indexed = Resolution & { database: Database };
type RecordsOfName = { name: string; selection: Selection };

const forward = (step: string) => ["forward-resolution", step] as const;

/**
 * Resolves the selected records of a name from the root registry (ENSIP-10): from the index if events determine what
 * the resolver returns, else from the resolver itself. Throws UnavailableError.
 */
export function resolveRecords(resolution: Resolution, request: RecordsOfName): Promise<Records> {
  return span(forward("forward-resolution"), { name: request.name }, () => {
    const { database, ensv2, known } = resolution;
    if (database === undefined) return resolveLive(resolution, request);
    if (ensv2 === undefined) return resolveFrom({ ...resolution, database }, known.root, request);
    return resolveInV2({ ...resolution, database }, ensv2, request);
  });
}

// Walks the ENSv2 registries. Names under the ENSv1 resolver resolve in ENSv1.
async function resolveInV2(
  resolution: Indexed,
  { contracts, time }: NonNullable<Resolution["ensv2"]>,
  request: RecordsOfName,
): Promise<Records> {
  const { database, known, reader, signal } = resolution;
  const { name, selection } = request;
  const path = parseNamePath(name);
  const [found] = await span(
    forward("find-resolver"),
    { name },
    () => readV2Names(database, contracts, { paths: [path], time, hasV1: false }, signal),
    ([answer]) => (answer?.isProven ? answer.resolver : null),
  );
  // Only the chain knows what a registry of unknown code returns.
  if (found?.isProven === false) return resolveLive(resolution, request);
  const kind = found ? kindOfResolver(found.resolver, found, contracts) : "none";
  await isThere(kind !== "none");
  if (found === undefined || kind === "none") return unsetRecords(selection);

  const { resolver } = found;
  const { chainId } = contracts;
  const isWildcard = found.resolverLevel < path.labels.length;
  const target = { chainId, resolver, name, isWildcard };
  if (kind === "v1") return resolveFrom(resolution, known.root, request);
  if (kind === "unknown" || !known.indexedChains.has(chainId)) return execute(reader, target, selection);
  return span(forward("accelerate-ensv2-resolver"), { resolver }, async () => {
    if (isWildcard && kind === "public") return unsetRecords(selection);
    const asked = [{ row: { name }, records: null, inV2: { ...found, isOwn: !isWildcard, labels: [] } }];
    const [records] = await readV2Records(database, { contracts, hasRecords: true, asked }, signal);
    if (!records) return execute(reader, target, selection);
    return completeRecords(records.set ?? null, { hasDefaultAddress: true }, reader, target, selection);
  });
}

async function resolveLive(
  { reader, known }: Resolution,
  { name, selection }: RecordsOfName,
): Promise<Records> {
  const found = await findResolver({ name }, () => reader.findResolver(name));
  if (found === undefined) return unsetRecords(selection);
  return execute(reader, { chainId: known.root.chainId, name, ...found }, selection);
}

async function resolveFrom(
  resolution: Indexed,
  registry: Registry,
  request: RecordsOfName,
): Promise<Records> {
  const { database, known, reader, signal } = resolution;
  const { name, selection } = request;
  const nodes = namesAbove(name).map(namehash);
  const found = await findResolver({ name, ...registry }, () =>
    indexedResolver(database, { registry, nodes, selection }, signal),
  );
  if (found === undefined) return unsetRecords(selection);

  const { chainId } = registry;
  const { resolver, index } = found;
  const target = { chainId, resolver, name, isWildcard: index > 0 };

  if (known.isReverseResolver(chainId, resolver)) {
    return span(forward("accelerate-ensip-19-reverse-resolver"), { resolver }, () =>
      reverseRecords(database, request, signal),
    );
  }
  const bridge = known.bridgeOf(chainId, resolver);
  if (bridge !== undefined) {
    return span(forward("accelerate-known-offchain-lookup-resolver"), { resolver }, () =>
      resolveFrom(resolution, bridge, request),
    );
  }
  const fixed = known.staticResolverOf(chainId, resolver);
  if (fixed === undefined || !known.indexedChains.has(chainId)) return execute(reader, target, selection);
  return span(forward("accelerate-known-onchain-static-resolver"), { resolver }, async () =>
    target.isWildcard && !fixed.isExtended
      ? unsetRecords(selection)
      : completeRecords(found.records, fixed, reader, target, selection),
  );
}

// A reverse resolver has names only.
async function reverseRecords(
  database: Database,
  { name, selection }: RecordsOfName,
  signal: AbortSignal,
): Promise<Records> {
  const account = selection.name ? parseReverseName(name) : undefined;
  const raw = account && (await indexedReverseName(database, account, signal));
  const found = { name: raw === undefined ? null : nameRecord(raw, selection.name) };
  return { ...unsetRecords(selection), ...(selection.name ? found : {}) };
}

const check = (step: readonly [string, string], outcome: boolean, inputs: Record<string, unknown> = {}) =>
  span(
    step,
    inputs,
    async () => outcome,
    (found) => found,
  );

const isThere = (hasResolver: boolean) => check(forward("active-resolver-exists"), hasResolver);

async function findResolver<T extends { resolver: Hex }>(
  inputs: Record<string, unknown>,
  find: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const found = await span(forward("find-resolver"), inputs, find, (answer) => answer?.resolver ?? null);
  await isThere(found !== undefined);
  return found;
}

// Adds what only the resolver knows (data, version, ABI, interfaces) to the indexed records.
async function completeRecords(
  records: IndexedRecords | null,
  { hasDefaultAddress }: { hasDefaultAddress: boolean },
  ...[reader, target, selection]: Parameters<typeof execute>
): Promise<Records> {
  const { data, version, abi, interfaces, ...indexed } = selection;
  const rest = { data, version, abi, interfaces };
  const live = isEmptySelection(rest) ? {} : await execute(reader, target, rest);
  return { ...indexedRecords(records, indexed, { hasDefaultAddress }), ...live };
}

const execute = (...[reader, target, selection]: Parameters<typeof liveRecords>): Promise<Records> =>
  span(forward("execute-resolve-calls"), target, () => liveRecords(reader, target, selection));

const reverse = (step: string) => ["reverse-resolution", step] as const;

/**
 * An account's claim to a primary name on a chain. `address`: what the name resolves to there; `reason`: the step that
 * fails.
 */
export type PrimaryNameClaim = {
  name: string | null;
  address: string | null;
  reason?: "no_reverse_record" | "not_normalized" | "no_forward_record" | "other_address";
};

/**
 * An account's verified primary name on a chain (ENSIP-19), else null. Chain 0 is the default of EVM chains. Throws
 * UnavailableError.
 */
export const primaryName = async (resolution: Resolution, account: Account): Promise<string | null> =>
  verifyName(await primaryNameClaim(resolution, account), account);

type Account = { address: Hex; chainId: number };

const verifyName = (claim: PrimaryNameClaim, { address }: Account) =>
  claim.address === address ? claim.name : null;

/** Reads what `primaryName` compares. Throws UnavailableError. */
export function primaryNameClaim(resolution: Resolution, account: Account): Promise<PrimaryNameClaim> {
  const read = async () => {
    const coinType = toCoinType(account.chainId);
    const ofAccount = reverseName({ address: account.address, coinType });
    const { name: raw } = await span(reverse("resolve-reverse-name"), { name: ofAccount }, () =>
      resolveRecords(resolution, { name: ofAccount, selection: { name: "raw" } }),
    );
    const name = raw ? nameValue(raw) : null;
    await check(reverse("name-record-exists-check"), name !== null);
    if (name === null)
      return { name, address: null, reason: raw ? "not_normalized" : "no_reverse_record" } as const;

    const { addresses } = await span(reverse("forward-resolve-address-record"), { name }, () =>
      resolveRecords(resolution, { name, selection: { addresses: [coinType] } }),
    );
    const found = addresses?.[String(coinType)] ?? null;
    const isSame = found === account.address;
    await check(reverse("verify-resolved-address-matches-address"), isSame, { found });
    if (isSame) return { name, address: found };
    return { name, address: found, reason: found === null ? "no_forward_record" : "other_address" } as const;
  };
  return span(reverse("reverse-resolution"), account, read, (claim) => verifyName(claim, account));
}
