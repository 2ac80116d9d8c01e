import { type Hex, toEventSelector } from "viem";
import {
  entryPoint06Address,
  entryPoint07Address,
  entryPoint08Address,
  entryPoint09Address,
} from "viem/account-abstraction";
import { v2Account } from "../schema/ensv2.ts";
import { isReadGranted } from "./node-reads.ts";
import type { Scope } from "./scope.ts";

// Contracts that run user operations (ERC-4337). After the logs of each operation they emit their own.
const entryPoints: ReadonlySet<string> = new Set(
  [entryPoint06Address, entryPoint07Address, entryPoint08Address, entryPoint09Address].map((address) =>
    address.toLowerCase(),
  ),
);
const operationEnded = toEventSelector(
  "event UserOperationEvent(bytes32 indexed userOpHash, address indexed sender, address indexed paymaster, uint256 nonce, bool success, uint256 actualGasCost, uint256 actualGasUsed)",
);

/**
 * Returns who acts by the event: the sender of its transaction. A stranger relays a user operation (ERC-4337), so on
 * the root chain its account counts, or that account's owner if ENSv2's factory created it. Asks a node for the
 * receipt; without one, the relayer counts.
 */
export async function findActor(scope: Scope): Promise<Hex> {
  const { db, chainId, rootChainId, sender, recipient, isV2Indexed } = scope;
  // Most users of Basenames have such accounts: a request for each would take hours of a backfill.
  if (chainId !== rootChainId || !entryPoints.has(recipient ?? "")) return sender;
  const account = await readAccount(scope);
  if (account === undefined) {
    scope.report("unknown-account", scope);
    return sender;
  }
  return (isV2Indexed && (await db.find(v2Account, { chainId, account }))?.owner) || account;
}

type ReceiptLog = { address?: string; topics?: readonly string[]; logIndex?: string };

async function readAccount(scope: Scope): Promise<Hex | undefined> {
  if (!(await isReadGranted(scope, "transaction"))) return undefined;
  const { nodes, saved, chainId, blockNumber, transactionHash, logIndex, recipient } = scope;
  // This is no JSON-RPC method: a saved account takes less space than the receipt.
  const request = { method: "account_of_log", params: [transactionHash, logIndex], blockNumber };
  const known = await saved?.find(chainId, request);
  if (/^0x[0-9a-f]{40}$/.test(String(known))) return known as Hex;
  const receipt = await nodes(chainId, {
    ...{ method: "eth_getTransactionReceipt", params: [transactionHash], blockNumber },
    ...{ maxBytes: 8_000_000, timeoutMs: 4_000 },
  });
  const { logs } = (receipt ?? {}) as { logs?: readonly ReceiptLog[] };
  const ended = (Array.isArray(logs) ? logs : []).find(
    ({ address, topics, logIndex: at }: ReceiptLog) =>
      address?.toLowerCase() === recipient && topics?.[0] === operationEnded && Number(at) > logIndex,
  );
  const word = ended?.topics?.[2];
  const account = word && (`0x${word.slice(-40).toLowerCase()}` as Hex);
  if (account) saved?.keep(chainId, request, account);
  return account || undefined;
}
