import type { Hex } from "viem";
import { encodedLabel, isLabelOf, isUsableLabel } from "../ens/labels.ts";
import { interpretedLabel } from "../ens/normalization.ts";

/** A label as stored: `labelName` in its column, `part` in names. */
export type StoredLabel = { labelName: string | null; part: string };

/** How ids and names are written: as in the original subgraph, or so that several chains fit into one index. */
export type Naming = {
  isSubgraphCompatible: boolean;
  rootName: string | null;
  eventId(chainId: number, blockNumber: number, logIndex: number): string;
  resolverId(chainId: number, address: Hex, node: Hex): string;
  registrationId(node: Hex, labelhash: Hex): Hex;
  /** The form of a label from an event; undefined if names cannot use it. */
  known(labelhash: Hex, label: string | undefined): StoredLabel | undefined;
  /** The form of a label that is proven to hash to `labelhash`, such as those of the label source. */
  proven(labelhash: Hex, label: string | undefined): StoredLabel | undefined;
  /** The form of a label that is unknown, or that names cannot use. */
  unknown(labelhash: Hex): StoredLabel;
};

/** subgraph: ids and values byte-equal to the original. */
export const subgraphNaming: Naming = {
  isSubgraphCompatible: true,
  rootName: null,
  eventId: (_chainId, blockNumber, logIndex) => `${blockNumber}-${logIndex}`,
  resolverId: (_chainId, address, node) => `${address}-${node}`,
  registrationId: (_node, labelhash) => labelhash,
  known: (_labelhash, label) => usable(label),
  proven: (_labelhash, label) => usable(label),
  unknown: (labelhash) => ({ labelName: null, part: encodedLabel(labelhash) }),
};

/** Ids carry their chain. Labels and names are interpreted: each label is normalized or `[labelhash]`. */
export const multichainNaming: Naming = {
  isSubgraphCompatible: false,
  rootName: "",
  eventId: (chainId, blockNumber, logIndex) => `${chainId}-${blockNumber}-${logIndex}`,
  resolverId: (chainId, address, node) => `${chainId}-${address}-${node}`,
  registrationId: (node) => node,
  // Only the preimage may replace the hash: an event can carry any text.
  known: (labelhash, label) =>
    label === undefined || !isLabelOf(label, labelhash) ? undefined : interpreted(labelhash, label),
  proven: (labelhash, label) => (label === undefined ? undefined : interpreted(labelhash, label)),
  unknown(labelhash) {
    const part = encodedLabel(labelhash);
    return { labelName: part, part };
  },
};

function usable(label: string | undefined): StoredLabel | undefined {
  if (label === undefined || !isUsableLabel(label)) return undefined;
  return { labelName: label === "" ? null : label, part: label };
}

function interpreted(labelhash: Hex, label: string): StoredLabel | undefined {
  const part = interpretedLabel(labelhash, label);
  return part === label ? { labelName: part, part } : undefined;
}

/** The name of a child: `part` before the parent's name; null if the parent has none (subgraph). */
export function childName(part: string, parentName: string | null): string | null {
  if (parentName === null) return null;
  return parentName === "" ? part : `${part}.${parentName}`;
}
