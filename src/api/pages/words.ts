import { readFileSync } from "node:fs";
import { ens_split } from "@adraffy/ens-normalize";
import { formatUnits } from "viem";
import { findChain } from "../../deployments/chains.ts";
import { findCoinTitle } from "../../ens/native-addresses.ts";
import { defaultEvmCoinType } from "../../ens/reverse-names.ts";

// What chains, coins, times and amounts are called by people.

type KnownChain = [name: string, explorer?: string];

// viem's chains by id: its own list is 700 modules, which take a tenth of a start. words.test.ts makes the file.
const known: Readonly<Record<number, KnownChain>> = JSON.parse(
  readFileSync(new URL("known-chains.json", import.meta.url), "utf8"),
);

/**
 * The name of a chain as wallets show it, that of the test network's configuration, or its number.
 * @example chainName(10) // "OP Mainnet"
 */
export function titleOfChain(id: number): string {
  const own = findChain(id).name;
  const [name = own] = known[id] ?? [];
  return name === `chain-${id}` ? `Chain ${id}` : name;
}

/** Base URLs of block explorers by chain id. */
export type Explorers = Readonly<Record<number, string>>;

/**
 * The URL of a chain's block explorer: the configured one, else the one that viem knows; undefined if there is none.
 */
export function findExplorer(id: number, configured: Explorers = {}): string | undefined {
  return (configured[id] ?? known[id]?.[1])?.replace(/\/+$/, "");
}

// Coins without EVM (SLIP-44).
const coins: Readonly<Record<number, string>> = {
  ...{ 0: "Bitcoin", 2: "Litecoin", 3: "Dogecoin", 5: "Dash", 22: "Monacoin", 60: "Ethereum" },
  ...{ 61: "Ethereum Classic", 118: "Cosmos", 128: "Monero", 133: "Zcash", 137: "Rootstock" },
  ...{ 144: "XRP", 145: "Bitcoin Cash", 148: "Stellar", 195: "TRON", 283: "Algorand", 354: "Polkadot" },
  ...{ 397: "NEAR", 434: "Kusama", 461: "Filecoin", 501: "Solana", 607: "TON", 637: "Aptos" },
  ...{ 700: "Gnosis (SLIP-44)", 714: "BNB Beacon Chain", 784: "Sui", 1729: "Tezos", 1815: "Cardano" },
  ...{ 3030: "Hedera", 9000: "Avalanche X", 966: "Polygon (SLIP-44)" },
};

/**
 * What a coin type stands for: a coin of SLIP-44, or the EVM chain of ENSIP-11; 0x80000000 is all of them (ENSIP-19).
 * @example coinName("2147492101") // "Base"
 */
export function coinName(coinType: string): string {
  const number = Number(coinType);
  if (coins[number] !== undefined) return coins[number];
  const chainId = number - Number(defaultEvmCoinType);
  if (chainId === 0) return "Any EVM chain";
  if (chainId > 0 && chainId < Number(defaultEvmCoinType)) return titleOfChain(chainId);
  // The library marks coin types that ENSIP-11 replaces.
  return findCoinTitle(coinType)?.replace(/^\[LEGACY\] (.*)$/, "$1 (SLIP-44)") ?? `Coin ${coinType}`;
}

/**
 * The begin and the end of a hash or an address.
 * @example shortHex("0xd8da6bf26964af9d7eed9e03e53415d37aa96045") // "0xd8da…6045"
 */
export const shortHex = (hex: string): string =>
  hex.length > 14 ? `${hex.slice(0, 6)}…${hex.slice(-4)}` : hex;

const monthSeconds = 2_629_800;
const units = [
  ["month", monthSeconds],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
] as const;

/**
 * A time as seen from another, both in Unix seconds, rounded: in years and months, or in one smaller unit.
 * @example sinceOrUntil(1_000, 8_200) // "2 hours ago"
 */
export function sinceOrUntil(time: number, now: number): string {
  const seconds = Math.abs(time - now);
  const sides = (span: string) => (time > now ? `in ${span}` : `${span} ago`);
  const months = Math.round(seconds / monthSeconds);
  const years = Math.floor(months / 12);
  // Beyond it, dates are those of names that never end.
  if (years > 9_999) return time > now ? "never" : "long ago";
  const rest = months % 12 === 0 ? "" : ` ${formatPlural(months % 12, "month")}`;
  if (years > 0) return sides(formatPlural(years, "year") + rest);
  // 59.9 minutes are an hour.
  const [unit, length] = units.find(([, one], at) => seconds >= one - (units[at + 1]?.[1] ?? 0) / 2) ?? [
    "second",
    1,
  ];
  const amount = Math.round(seconds / length);
  return amount === 0 ? "now" : sides(formatPlural(amount, unit));
}

const formatPlural = (amount: number, unit: string) => `${amount} ${unit}${amount === 1 ? "" : "s"}`;

/**
 * How long a lease is, in years of 365 days where it is about one or more, else in days.
 * @example leaseLength(63_072_000) // "2 years"
 */
export function leaseLength(seconds: number): string {
  const days = Math.round(seconds / 86_400);
  if (days === 0) return formatPlural(Math.round(seconds / 60), "minute");
  return days < 360
    ? formatPlural(days, "day")
    : formatPlural(Number((seconds / 31_536_000).toFixed(1)), "year");
}

/** Decimal places of known currencies. */
export const decimals: Readonly<Record<string, number>> = { ETH: 18, WETH: 18, DAI: 18, USDC: 6 };

/**
 * An amount in the unit of its currency, exact and cut to what people read; of an unknown token in its smallest units.
 * @example formatAmount("10600000000000123", "ETH") // { exact: "0.010600000000000123 ETH", short: "0.0106 ETH" }
 */
export function formatAmount(amount: string, currency: string): { exact: string; short: string } {
  const places = decimals[currency];
  if (places === undefined) return { exact: `${amount} units`, short: `${amount} units` };
  const exact = formatUnits(BigInt(amount), places);
  const [whole = "0", fraction = ""] = exact.split(".");
  const shown = (whole === "0" ? /^0*\d{0,3}/.exec(fraction)?.[0] : fraction.slice(0, 4)) ?? "";
  const rest = shown.replace(/0+$/, "");
  const grouped = BigInt(whole).toLocaleString("en");
  return { exact: `${exact} ${currency}`, short: `${grouped}${rest && `.${rest}`} ${currency}` };
}

/**
 * What readers should know of a name's letters: their script where they are not plain, in the words of ENSIP-15, or why
 * the name is not normalized. Undefined for plain names and unknown labels.
 */
export function describeLetters(name: string): string | undefined {
  if (/^[a-z0-9.[\]_$-]*$/.test(name) || name.length > 1_000) return undefined;
  const labels = ens_split(name);
  const fault = labels.find(({ error }) => error !== undefined)?.error;
  if (fault !== undefined) return `Not normalized: ${fault.message.replaceAll("\u200e", "")}`;
  const scripts = labels.flatMap(({ type }) =>
    type === undefined || /^(ASCII|Emoji)$/.test(type) ? [] : type,
  );
  return scripts.length === 0 ? undefined : `${[...new Set(scripts)].join(" and ")} letters`;
}
