import { BaseError, ContractFunctionRevertedError, ContractFunctionZeroDataError, type Hex } from "viem";
import { threednsMetadataAbi } from "../../abis/threedns.ts";
import { outlastOutage } from "./outlast-outage.ts";

type UriRequest = {
  abi: typeof threednsMetadataAbi;
  address: Hex;
  functionName: "uri";
  args: readonly [bigint];
  retryEmptyResponse: false;
};

/** The part of Ponder's client that reads a contract at the event's block. */
export type UriReader = { readContract(request: UriRequest): Promise<string> };

/**
 * The token's metadata address, or undefined where the contract gives none: a revert and data that is no string are final
 * and are not asked for again. Waits while no node answers; rejects where one
 * answers with another failure.
 */
export async function readTokenUri(
  client: UriReader,
  { address, tokenId }: { address: Hex; tokenId: bigint },
): Promise<string | undefined> {
  try {
    return await outlastOutage(() =>
      client.readContract({
        abi: threednsMetadataAbi,
        address,
        functionName: "uri",
        args: [tokenId],
        // ponder: it would take an empty answer for a node that lags, and ask nine times.
        retryEmptyResponse: false,
      }),
    );
  } catch (error) {
    if (isFinal(error)) return undefined;
    throw error;
  }
}

// viem calls each failure with an internal error's code a revert: the text tells those of the contract.
const revertTexts = /revert|invalid opcode|out of gas|bad jump|stack underflow/i;
const decodingErrors = /^(AbiDecoding|PositionOutOfBounds|InvalidBytes|SliceOffset)/;

function isFinal(error: unknown): boolean {
  if (!(error instanceof BaseError)) return false;
  const cause = error.walk(
    (part) =>
      part instanceof ContractFunctionZeroDataError ||
      (part instanceof ContractFunctionRevertedError &&
        (part.data !== undefined || revertTexts.test(part.reason ?? ""))) ||
      (part instanceof Error && decodingErrors.test(part.name)),
  );
  return cause !== null;
}

// The second is a slip of the contract that some tokens carry.
const prefixes = ["data:application/json;base64,", "data:application/json;_base64,"];

/** First label of the name in a token's metadata document; undefined if the document is none or names nothing. */
export function labelInMetadata(uri: string): string | undefined {
  const prefix = prefixes.find((text) => uri.startsWith(text));
  if (prefix === undefined) return undefined;
  const name = nameIn(Buffer.from(uri.slice(prefix.length), "base64").toString("utf8"));
  return name?.split(".")[0];
}

function nameIn(json: string): string | undefined {
  try {
    const document: unknown = JSON.parse(json);
    if (typeof document !== "object" || document === null || !("name" in document)) return undefined;
    return typeof document.name === "string" ? document.name : undefined;
  } catch {
    // Not JSON: the document tells no name.
    return undefined;
  }
}
