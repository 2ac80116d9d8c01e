import type { Hex } from "viem";
import { resolverReadAbi } from "../../../abis/resolver.ts";
import { nodeOfName } from "../../ens/names.ts";
import { zeroAddress } from "../../ens/nodes.ts";
import { addressValue, bytesValue, nameValue, pubkeyValue, textValue } from "../../ens/record-values.ts";
import { type ChainReader, readExtended } from "./chain-reader.ts";
import { type Records, type Selection, unsetRecords } from "./selection.ts";

type Resolver = { chainId: number; resolver: Hex; name: string; isWildcard: boolean };

const extendedResolverInterface = "0x9061b923";

/** The selected records as the resolver itself returns them; null where it refuses. Throws UnavailableError. */
export async function liveRecords(
  reader: ChainReader,
  target: Resolver,
  selection: Selection,
): Promise<Records> {
  const { chainId, resolver, name } = target;
  const isExtended =
    (await reader.read(chainId, resolver, {
      abi: resolverReadAbi,
      functionName: "supportsInterface",
      args: [extendedResolverInterface],
    })) === true;
  // ENSIP-10: only an extended resolver resolves names below the one that it is set for.
  if (target.isWildcard && !isExtended) return unsetRecords(selection);

  const node = nodeOfName(name);
  const ask = (functionName: string, ...args: unknown[]) =>
    isExtended
      ? readExtended(reader, target, { functionName, args: [node, ...args] })
      : reader.read(chainId, resolver, {
          abi: resolverReadAbi,
          functionName,
          args: [node, ...args],
        } as never);
  return askFor(ask, selection);
}

type Ask = (functionName: string, ...args: unknown[]) => Promise<unknown>;

async function askFor(ask: Ask, selection: Selection): Promise<Records> {
  const [name, addresses, texts, contenthash, pubkey, dnszonehash, version, abi, interfaces] =
    await Promise.all([
      selection.name ? ask("name") : undefined,
      keyed(selection.addresses, (coinType) => askAddress(ask, coinType)),
      keyed(selection.texts, async (key) => textOf(await ask("text", key))),
      selection.contenthash ? ask("contenthash") : undefined,
      selection.pubkey ? ask("pubkey") : undefined,
      selection.dnszonehash ? ask("zonehash") : undefined,
      selection.version ? ask("recordVersions") : undefined,
      selection.abi === undefined ? undefined : ask("ABI", selection.abi),
      keyed(selection.interfaces, async (id) => implementerOf(await ask("interfaceImplementer", id))),
    ]);
  return {
    ...(selection.name ? { name: typeof name === "string" ? nameValue(name) : null } : {}),
    ...(selection.addresses.length > 0 ? { addresses } : {}),
    ...(selection.texts.length > 0 ? { texts } : {}),
    ...(selection.contenthash ? { contenthash: bytesOf(contenthash) } : {}),
    ...(selection.pubkey ? { pubkey: pubkeyOf(pubkey) } : {}),
    ...(selection.dnszonehash ? { dnszonehash: bytesOf(dnszonehash) } : {}),
    ...(selection.version ? { version: typeof version === "bigint" ? String(version) : null } : {}),
    ...(selection.abi === undefined ? {} : { abi: abiOf(abi) }),
    ...(selection.interfaces.length > 0 ? { interfaces } : {}),
  };
}

async function keyed<K extends string | bigint, V>(
  keys: readonly K[],
  read: (key: K) => Promise<V>,
): Promise<Record<string, V>> {
  return Object.fromEntries(await Promise.all(keys.map(async (key) => [String(key), await read(key)])));
}

// Resolvers older than ENSIP-9 know the address of coin type 60 only, under another function.
async function askAddress(ask: Ask, coinType: bigint): Promise<string | null> {
  const raw = (await ask("addr", coinType)) ?? (coinType === 60n ? await ask("addr") : undefined);
  return typeof raw === "string" ? addressValue(raw) : null;
}

function textOf(raw: unknown): string | null {
  return typeof raw === "string" ? textValue(raw) : null;
}

function bytesOf(raw: unknown): Hex | null {
  return typeof raw === "string" ? bytesValue(raw as Hex) : null;
}

function pubkeyOf(raw: unknown) {
  const [x, y] = (raw ?? []) as Hex[];
  return x === undefined || y === undefined ? null : pubkeyValue({ x, y });
}

function abiOf(raw: unknown) {
  const [contentType, data] = (raw ?? []) as [bigint?, Hex?];
  if (!contentType || data === undefined || data === "0x") return null;
  return { contentType: String(contentType), data };
}

function implementerOf(raw: unknown): Hex | null {
  return typeof raw !== "string" || raw === zeroAddress ? null : (raw.toLowerCase() as Hex);
}
