import type { Hex } from "viem";
import { nodeOfToken, type TokenIssuer } from "../deployments/namespaces.ts";
import { assetId } from "../ens/caip-ids.ts";
import { zeroAddress } from "../ens/nodes.ts";
import { nameToken } from "../schema/tokenscope.ts";
import { ensureAccount } from "./events.ts";
import type { Scope } from "./scope.ts";

export type Transfer = { tokenId: bigint; from: Hex; to: Hex };

/**
 * One token changed hands: minted, burned, minted again or transferred. The chain is right: if the event contradicts
 * the stored owner, that is reported, and the token still goes to its receiver.
 */
export async function applyTokenTransfer(
  scope: Scope,
  issuer: TokenIssuer,
  { tokenId, from, to }: Transfer,
): Promise<void> {
  const { chainId, address: contract, assetNamespace } = issuer;
  const id = assetId({ chainId, assetNamespace, contract, tokenId });
  const before = await scope.db.find(nameToken, { id });
  const mintStatus = to === zeroAddress ? "burned" : "minted";
  if (!agrees(issuer, before?.owner, from)) scope.report("contradictory-token-transfer", scope);
  if (before?.owner === to) return;

  await ensureAccount(scope, to);
  if (before) {
    await scope.db.update(nameToken, { id }).set({ owner: to, mintStatus });
    return;
  }
  await scope.db.insert(nameToken).values({
    id,
    domainId: nodeOfToken(issuer, tokenId),
    chainId,
    contractAddress: contract,
    tokenId,
    assetNamespace,
    owner: to,
    mintStatus,
    firstSeen: scope.eventId,
  });
}

/** One or several ERC-1155 tokens changed hands. Tokens of names come one by one: other amounts are reported and skipped. */
export async function applyTokenTransfers(
  scope: Scope,
  issuer: TokenIssuer,
  { ids, amounts, from, to }: { ids: readonly bigint[]; amounts: readonly bigint[]; from: Hex; to: Hex },
): Promise<void> {
  if (ids.length !== amounts.length) {
    scope.report("odd-token-batch", scope);
    return;
  }
  for (const [place, tokenId] of ids.entries()) {
    if (amounts[place] === 1n) await applyTokenTransfer(scope, issuer, { tokenId, from, to });
    else scope.report("odd-token-amount", scope);
  }
}

// A token that nobody holds counts as owned by the zero address, whether it was burned or never seen.
function agrees({ mintsOverLivingTokens }: TokenIssuer, stored: Hex | undefined, from: Hex): boolean {
  return (stored ?? zeroAddress) === from || (from === zeroAddress && mintsOverLivingTokens);
}
