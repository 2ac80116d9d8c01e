import pRetry from "p-retry";
import { type Hex, numberToHex } from "viem";
import type { IndexedChain } from "../../src/config/chains.ts";
import { headerHash } from "../../src/rpc/block-proofs.ts";
import { askUrl, nameUrl } from "../checks/nodes.ts";

type Header = Record<"hash" | "parentHash" | "stateRoot", Hex>;

const maxAbove = 256;
const retries = { retries: 2, minTimeout: 500 };

/**
 * The state root of a block, from a header that hashes to its hash. The hash counts if the trusted block, at most 256
 * blocks above, is it or leads to it by parents; else if no URL names another. Says who vouches for it; undefined if
 * nobody does.
 */
export async function proveStateRoot(
  { id, rpc, trustedBlock: trusted }: IndexedChain,
  number: number,
  say: (line: string) => void,
): Promise<Hex | undefined> {
  const urls = [...new Set(rpc.http)];
  const ask = async (block: string) => {
    const refused = (index: number) => (error: Error) =>
      void say(`no header from ${nameUrl(id, urls, index)}: ${error.message}`);
    const asked = urls.map((url, index) => readHeader(url, block).catch(refused(index)));
    return (await Promise.all(asked)).filter((header) => header !== undefined);
  };
  const found = await ask(numberToHex(number));
  const hashes = [...new Set(found.map(({ hash }) => hash))];
  if (trusted !== undefined && trusted.number >= number && trusted.number <= number + maxAbove) {
    let hash: string | undefined = trusted.hash;
    for (let height = trusted.number; height > number && hash !== undefined; height -= 1)
      hash = (await ask(hash))[0]?.parentHash;
    const header = found.find((one) => one.hash === hash);
    const named = header ? "" : `, but ${hashes.join(", ") || "no block"} by the URLs`;
    say(`block ${number} is ${hash ?? "unknown"} by TRUSTED_BLOCK_${id}${named}`);
    return header?.stateRoot;
  }
  const by = found.length > 1 ? `as ${found.length} URLs say` : "on the word of one URL";
  if (hashes.length === 1) say(`block ${number} is ${hashes[0]}, ${by}`);
  if (hashes.length > 1) say(`the URLs disagree on block ${number}: ${hashes.join(", ")}`);
  return hashes.length === 1 ? found[0]?.stateRoot : undefined;
}

const missing = new Error("it does not have the block");

/**
 * What a URL answers within three requests, as a node may get a block some moments later. Rejects with the reason in a
 * few words.
 */
export const askThrice = (url: string, method: string, params: unknown[]): Promise<unknown> =>
  pRetry(async () => (await askUrl(url, method, params)) ?? Promise.reject(missing), retries);

/** A header by number or hash. Rejects with the reason in a few words. */
async function readHeader(url: string, block: string): Promise<Header> {
  const method = block.length === 66 ? "eth_getBlockByHash" : "eth_getBlockByNumber";
  const header = (await askThrice(url, method, [block, false])) as Record<string, unknown>;
  const hash = headerHash(header);
  if (hash === undefined || hash !== header["hash"]) throw new Error("its header does not hash to its hash");
  if (![hash, header["number"]].includes(block)) throw new Error("its header is of another block");
  return header as Header;
}
