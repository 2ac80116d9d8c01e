import type { Hex } from "viem";
import { isLabelOf } from "../ens/labels.ts";
import { isReadGranted } from "./node-reads.ts";
import type { AskNodes, Scope } from "./scope.ts";
import { accountRequests, isOfAccount, labelInEvent, labelsIn, savedLabel } from "./transaction-labels.ts";

/**
 * Label of a subname of `addr.reverse`: the hex digits of an account's address. The registry's event has only its hash;
 * the account is searched where it must appear: sender, owner, the transaction's receipt, then its call trace.
 * Undefined for other parents, and if no address matches or the node returns no traces.
 */
export async function reverseLabel(
  scope: Scope,
  { parentNode, labelhash, owner }: { parentNode: Hex; labelhash: Hex; owner: Hex },
): Promise<string | undefined> {
  if (scope.naming.isSubgraphCompatible) return undefined;
  if (!isOfAccount({ parentNode }, scope.chainId === scope.rootChainId)) return undefined;
  const own = labelInEvent({ labelhash, owner, sender: scope.sender });
  if (own !== undefined) return own;
  if (await isReadGranted(scope, "transaction")) {
    const { saved, chainId, blockNumber, transactionHash } = scope;
    const request = { ...savedLabel(transactionHash, labelhash), blockNumber };
    const known = await saved?.find(chainId, request);
    if (known !== undefined && isLabelOf(known, labelhash)) return known;
    const label = await labelInTransaction(scope, labelhash);
    if (label !== undefined) {
      saved?.keep(chainId, request, label);
      return label;
    }
  }
  scope.report("unhealed-reverse-label", scope);
  return undefined;
}

type Transaction = { id: string; labels: Map<string, ReadonlyMap<Hex, string>> };

// The latest transaction of each reader: one transaction may name any number of accounts.
const latest = new WeakMap<AskNodes, Transaction>();

async function labelInTransaction(scope: Scope, labelhash: Hex): Promise<string | undefined> {
  const { nodes, chainId, blockNumber, transactionHash } = scope;
  const id = `${chainId} ${blockNumber} ${transactionHash}`;
  const known = latest.get(nodes);
  const transaction: Transaction = known?.id === id ? known : { id, labels: new Map() };
  latest.set(nodes, transaction);
  for (const request of accountRequests(transactionHash, blockNumber)) {
    const labels = transaction.labels.get(request.method) ?? labelsIn(await nodes(chainId, request));
    transaction.labels.set(request.method, labels);
    const label = labels.get(labelhash);
    if (label !== undefined) return label;
  }
  return undefined;
}
