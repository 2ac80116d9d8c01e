import { type Abi, encodeFunctionData, type Hex, toHex } from "viem";
import { threednsMetadataAbi } from "../../abis/names.ts";
import { textRecordAbi } from "../../abis/resolver.ts";
import type { NodeRequest } from "./scope.ts";

// The calls of contracts that rules make. Pure: a recording of an archive makes the same ones.

/** A call of a contract's one function. */
export type Call = { abi: Abi; args: readonly unknown[] };

/** The contract that emitted an event, and the event's block. */
type Place = { emitter: Hex; blockNumber: number };

/** The call for a text record of a resolver. */
export const textCall = ({ node, key }: { node: Hex; key: string }): Call => ({
  abi: textRecordAbi,
  args: [node, key],
});

/** The call for the metadata of the 3DNS token of a node. */
export const tokenUriCall = (node: Hex): Call => ({ abi: threednsMetadataAbi, args: [BigInt(node)] });

const longestPlainKey = 256;

/**
 * Whether a text is read through Ponder's client: of a contract of the configuration. Ponder would take a key that equals an
 * address for the address of its next reads, and has no bound for long ones.
 */
export const isReadByClient = (isConfigured: boolean, { key }: { key: string }): boolean =>
  isConfigured && key.length <= longestPlainKey && !key.startsWith("0x");

// Below the gas that a transaction may have (EIP-7825): some nodes apply that limit to calls too.
const gas = toHex(10_000_000);
const limits = { maxBytes: 512 * 1024, timeoutMs: 2_500 };

/** A call as Ponder's client sends it. */
export const clientRequest = (place: Place, call: Call): NodeRequest => requestOf(place, call, {});

/** A call of a contract that anybody may have deployed. */
export const boundedRequest = (place: Place, call: Call): NodeRequest => requestOf(place, call, { gas });

function requestOf({ emitter: to, blockNumber }: Place, call: Call, more: { gas?: Hex }): NodeRequest {
  const params = [{ to, data: encodeFunctionData(call), ...more }, toHex(blockNumber)];
  return { method: "eth_call", params, blockNumber, ...limits };
}
