import { type Abi, decodeFunctionData, type Hex } from "viem";
import {
  entryPoint06Abi,
  entryPoint06Address,
  entryPoint07Abi,
  entryPoint07Address,
  entryPoint08Abi,
  entryPoint08Address,
  entryPoint09Abi,
  entryPoint09Address,
} from "viem/account-abstraction";

// The contracts that run user operations (ERC-4337), at the same address on every chain.
const entryPoints: ReadonlyMap<string, Abi> = new Map<string, Abi>(
  (
    [
      [entryPoint06Address, entryPoint06Abi],
      [entryPoint07Address, entryPoint07Abi],
      [entryPoint08Address, entryPoint08Abi],
      [entryPoint09Address, entryPoint09Abi],
    ] as const
  ).map(([address, abi]) => [address.toLowerCase(), abi]),
);

/** A transaction as its block has it. */
export type Transaction = { to?: Hex | null | undefined; input?: Hex | undefined };

/**
 * The account (lower case) that acts in a transaction which bundles its user operations (ERC-4337): the sender is a stranger who relays
 * them. Undefined for other transactions and for operations of several accounts, of which neither log nor call tells whose emitted a log.
 */
export function actingAccount({ to, input }: Transaction): Hex | undefined {
  const abi = to ? entryPoints.get(to.toLowerCase()) : undefined;
  if (abi === undefined || input === undefined) return undefined;
  try {
    const { functionName, args = [] } = decodeFunctionData({ abi, data: input });
    const operations = functionName === "handleOps" ? (args[0] as readonly { sender: Hex }[]) : [];
    const accounts = new Set(operations.map(({ sender }) => sender.toLowerCase() as Hex));
    return accounts.size === 1 ? [...accounts][0] : undefined;
  } catch {
    return undefined; // Anybody can call with other data.
  }
}
