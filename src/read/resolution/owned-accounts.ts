import { BaseError, type Client, type Hex, keccak256, parseAbi, recoverAddress } from "viem";
import { getCode } from "viem/actions";
import {
  buildListingKey,
  buildProofKey,
  chainsKey,
  checkDates,
  decodeChains,
  decodeListing,
  decodeProof,
  hashConsent,
  maxOwnedAccounts,
  parseAccountKey,
} from "../../ens/owned-accounts.ts";
import { type ChainReader, UnavailableError } from "./chain-reader.ts";

// Whether the accounts that a name lists consent to it (ENSIP-28): by their signatures, or by their contracts.

type ListedAccount = { chainId: number; account: Hex };

/** An account that a name lists. `expiresAt`: until when its consent holds, in Unix seconds. */
export type OwnedAccount = ListedAccount & {
  status: "verified" | "expired" | "unproven" | "invalid" | "unreachable";
  expiresAt?: bigint;
};

/**
 * What accounts are checked by. `hashes`: keccak-256 of the values of the name's data records by key, by their events;
 * undefined if these are not indexed. `readData`: the values, live.
 */
export type AccountSources = {
  node: Hex;
  recordsChainId: number;
  now: bigint;
  hashes: Readonly<Record<string, string>> | undefined;
  readData: (keys: readonly string[]) => Promise<Readonly<Record<string, string | null>>>;
  reader: Pick<ChainReader, "read">;
  clientOf: (chainId: number) => Client | undefined;
};

/**
 * The accounts that a name lists, at most 32, each checked by itself. Throws UnavailableError if the records cannot be
 * read.
 */
export async function readOwnedAccounts(sources: AccountSources): Promise<OwnedAccount[]> {
  const chainIds = await listChains(sources);
  if (chainIds.length === 0) return [];
  const lists = await readAnnounced(sources, chainIds.map(buildListingKey));
  const listed = chainIds.flatMap((chainId): (ListedAccount | OwnedAccount)[] => {
    const value = lists.get(buildListingKey(chainId));
    if (value === undefined) return listClaims(sources, chainId);
    return decodeListing(value).map((account) => ({ chainId, account }));
  });
  const once = new Map(
    listed.slice(0, maxOwnedAccounts).map((one) => [buildProofKey(one.chainId, one.account), one]),
  );
  if (once.size === 0) return [];
  const proofs = await readAnnounced(sources, [...once.keys()]);
  return Promise.all(
    [...once].map(([key, one]) => ("status" in one ? one : checkAccount(sources, one, proofs.get(key)))),
  );
}

/** Up to 32 accounts whose proofs have keys, of one chain or of all, where it does not tell what is listed. */
export const listClaims = (
  { hashes = {} }: Pick<AccountSources, "hashes">,
  ofChain?: number,
): OwnedAccount[] =>
  Object.keys(hashes)
    .flatMap((key): OwnedAccount[] => {
      const { chainId, account } = parseAccountKey(key) ?? {};
      if (chainId === undefined || account === undefined || chainId !== (ofChain ?? chainId)) return [];
      return [{ chainId, account, status: "unreachable" }];
    })
    .slice(0, maxOwnedAccounts);

// The chains of which the name lists accounts: by its keys, or by its own list where these are not indexed.
async function listChains({ hashes, readData }: AccountSources): Promise<number[]> {
  if (hashes === undefined) return decodeChains(((await readData([chainsKey]))[chainsKey] ?? "0x") as Hex);
  const chainIds = Object.keys(hashes).flatMap((key) => {
    const { chainId, account } = parseAccountKey(key) ?? {};
    return chainId === undefined || account !== undefined ? [] : [chainId];
  });
  return chainIds.sort((a, b) => a - b).slice(0, maxOwnedAccounts);
}

// Values by key, without those that differ from what their events announced: the chain has moved on, or the node lies.
async function readAnnounced(
  { readData, hashes = {} }: AccountSources,
  keys: readonly string[],
): Promise<ReadonlyMap<string, Hex>> {
  const values = await readData(keys);
  return new Map(
    keys.flatMap((key) => {
      const value = (values[key] ?? "0x") as Hex;
      const isOther = Object.hasOwn(hashes, key) && hashes[key] !== keccak256(value);
      return isOther ? [] : [[key, value]];
    }),
  );
}

async function checkAccount(
  sources: AccountSources,
  listed: ListedAccount,
  value: Hex | undefined,
): Promise<OwnedAccount> {
  if (value === undefined) return { ...listed, status: "unreachable" };
  if (value === "0x") return { ...listed, status: "unproven" };
  const proof = decodeProof(value);
  if (proof === undefined) return { ...listed, status: "invalid" };
  const { expiresAt, signature } = proof;
  const fault = checkDates(proof, sources.now);
  if (fault !== undefined) return { ...listed, status: fault, expiresAt };
  const { node, recordsChainId } = sources;
  const digest = hashConsent({ node, recordsChainId, expiresAt, ...listed });
  return { ...listed, status: await checkSignature(sources, listed, { digest, signature }), expiresAt };
}

const erc1271 = parseAbi(["function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)"]);
const magicValue = "0x1626ba7e";

// An account with code on its chain answers for itself (ERC-1271), accounts of EIP-7702 too; another has signed.
async function checkSignature(
  { reader, clientOf }: AccountSources,
  { chainId, account }: ListedAccount,
  { digest, signature }: { digest: Hex; signature: Hex },
): Promise<OwnedAccount["status"]> {
  const client = clientOf(chainId);
  if (client === undefined) return "unreachable";
  try {
    const code = await getCode(client, { address: account });
    if (code === undefined || code === "0x") {
      const signer = await recoverAddress({ hash: digest, signature }).catch(() => undefined);
      return signer?.toLowerCase() === account ? "verified" : "invalid";
    }
    const request = { abi: erc1271, functionName: "isValidSignature", args: [digest, signature] } as const;
    return (await reader.read(chainId, account, request)) === magicValue ? "verified" : "invalid";
  } catch (error) {
    // A chain that fails says nothing of the other accounts.
    if (error instanceof UnavailableError || error instanceof BaseError) return "unreachable";
    throw error;
  }
}
