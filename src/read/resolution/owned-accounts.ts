import { BaseError, type Client, type Hex, parseAbi, recoverAddress } from "viem";
import { getCode } from "viem/actions";
import {
  buildProofKey,
  checkDates,
  decodeListing,
  decodeProof,
  hashConsent,
  maxOwnedAccounts,
  parseAccountKey,
} from "../../ens/owned-accounts.ts";
import { type ChainReader, UnavailableError } from "./chain-reader.ts";

// Whether the accounts that a name lists consent to it (ENSIP-28): by their signatures, or by their contracts.

/** An account that a name lists. `expiresAt`: until when its consent holds, in Unix seconds. */
export type OwnedAccount = {
  chainId: number;
  account: Hex;
  status: "verified" | "expired" | "unproven" | "invalid" | "unreachable";
  expiresAt?: bigint;
};

/** What accounts are checked by. `readData`: values of the name's data records by key, live. */
export type AccountSources = {
  node: Hex;
  recordsChainId: number;
  now: bigint;
  readData: (keys: readonly string[]) => Promise<Readonly<Record<string, string | null>>>;
  reader: Pick<ChainReader, "read">;
  clientOf: (chainId: number) => Client | undefined;
};

/**
 * The accounts that a name lists under the known keys of its data records, at most 32, each checked by itself. Throws
 * UnavailableError if the records cannot be read.
 */
export async function readOwnedAccounts(
  sources: AccountSources,
  keys: readonly string[],
): Promise<OwnedAccount[]> {
  const listings = keys.flatMap((key) => {
    const parsed = parseAccountKey(key);
    return parsed && parsed.account === undefined ? [{ key, chainId: parsed.chainId }] : [];
  });
  if (listings.length === 0) return [];
  const shown = listings.sort((a, b) => a.chainId - b.chainId).slice(0, maxOwnedAccounts);
  const values = await sources.readData(shown.map(({ key }) => key));
  const listed = shown
    .flatMap(({ key, chainId }) =>
      decodeListing((values[key] ?? "0x") as Hex).map((account) => ({ chainId, account })),
    )
    .slice(0, maxOwnedAccounts);
  const once = [...new Map(listed.map((one) => [buildProofKey(one.chainId, one.account), one]))];
  if (once.length === 0) return [];
  const proofs = await sources.readData(once.map(([key]) => key));
  return Promise.all(once.map(([key, one]) => checkAccount(sources, one, proofs[key] ?? null)));
}

type ListedAccount = { chainId: number; account: Hex };

async function checkAccount(
  sources: AccountSources,
  listed: ListedAccount,
  value: string | null,
): Promise<OwnedAccount> {
  if (value === null || value === "0x") return { ...listed, status: "unproven" };
  const proof = decodeProof(value as Hex);
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
