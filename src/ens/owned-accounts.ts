import { decodeAbiParameters, type Hex, hashTypedData, size, slice } from "viem";

// Owned accounts of a name (ENSIP-28): data records that list accounts by chain, and each account's consent.

/** The most accounts of a listing that count. */
export const maxOwnedAccounts = 32;

/** What the key of a data record is of: the accounts of a chain, or one account's proof. */
type AccountKey = { chainId: number; account?: Hex };

const keyForm = /^accounts\[([1-9]\d{0,14})\](?:\[(0x[0-9a-f]{40})\])?$/;

/** Reads the key of a data record; undefined for other records. */
export function parseAccountKey(key: string): AccountKey | undefined {
  const [, chain, account] = keyForm.exec(key) ?? [];
  if (chain === undefined) return undefined;
  return { chainId: Number(chain), ...(account && { account: account as Hex }) };
}

/** The key of the accounts of a chain. */
export const buildListingKey = (chainId: number) => `accounts[${chainId}]`;

/** The key of the chains of which accounts are listed. */
export const chainsKey = "accounts-chains";

/** The key of an account's proof. */
export const buildProofKey = (chainId: number, account: Hex) =>
  `accounts[${chainId}][${account.toLowerCase()}]`;

const word = 32;
const padding = `0x${"00".repeat(12)}`;

// Words without a length; one that is cut is none.
const splitListing = (value: Hex) =>
  Array.from({ length: Math.min(Math.floor(size(value) / word), maxOwnedAccounts) }, (_, at) =>
    slice(value, at * word, (at + 1) * word),
  );

/** The accounts of a listing, without words that are no address. */
export const decodeListing = (value: Hex): Hex[] =>
  splitListing(value).flatMap((one) =>
    slice(one, 0, 12) === padding ? [slice(one, 12).toLowerCase() as Hex] : [],
  );

/** The ids of the listed chains, without those beyond safe numbers. */
export const decodeChains = (value: Hex): number[] =>
  splitListing(value).map(Number).filter(Number.isSafeInteger);

/** An account's consent: until when, and the signature. */
type ConsentProof = { expiresAt: bigint; signature: Hex };

/** Reads a proof; undefined if it is not one. */
export function decodeProof(value: Hex): ConsentProof | undefined {
  try {
    const [expiresAt, signature] = decodeAbiParameters([{ type: "uint256" }, { type: "bytes" }], value);
    return { expiresAt, signature };
  } catch {
    return undefined;
  }
}

// Two years of which one is a leap year: the standard does not say which two.
const longestSeconds = 731n * 86_400n;

/** What is wrong with a proof by its dates at a time in Unix seconds; undefined if nothing is. */
export function checkDates(
  { expiresAt, signature }: ConsentProof,
  now: bigint,
): "invalid" | "expired" | undefined {
  if (expiresAt === 0n || signature === "0x" || expiresAt > now + longestSeconds) return "invalid";
  return now >= expiresAt ? "expired" : undefined;
}

/** What an account consents to. `recordsChainId`: the chain that holds the name's records. */
type Consent = { node: Hex; chainId: number; account: Hex; expiresAt: bigint; recordsChainId: number };

/** The EIP-712 digest that an account signs. */
export const hashConsent = ({ node, chainId, account, expiresAt, recordsChainId }: Consent): Hex =>
  hashTypedData({
    domain: { name: "ENS Name Owned Accounts", version: "1", chainId: recordsChainId },
    types: {
      Consent: [
        { name: "node", type: "bytes32" },
        { name: "accountChainId", type: "uint256" },
        { name: "account", type: "address" },
        { name: "expiresAt", type: "uint256" },
      ],
    },
    primaryType: "Consent",
    message: { node, accountChainId: BigInt(chainId), account, expiresAt },
  });
