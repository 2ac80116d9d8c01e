import type { Hex } from "viem";
import { accountId } from "../ens/caip-ids.ts";
import { subnode, tokenIdToHex } from "../ens/nodes.ts";
import type { Deployment, Namespace, Role } from "./deployment.ts";
import { deployments } from "./deployments.ts";
import { deployedContracts, managedNameOf } from "./namespaces.ts";

/** A contract whose tokens stand for names. */
export type TokenIssuer = {
  chainId: number;
  address: Hex;
  assetNamespace: "erc721" | "erc1155";
  /** Node whose direct subnames the tokens are, the token id being the labelhash; undefined: the token id is the node. */
  managedNode: Hex | undefined;
  isNameWrapper: boolean;
  /** Whether the contract mints over a living token without burning it first. */
  mintsOverLivingTokens: boolean;
};

const tokenRoles = ["baseRegistrar", "nameWrapper", "threednsToken"] as const satisfies Role[];

/** Every token issuer of a namespace: base registrars, name wrappers, 3DNS tokens. */
export function tokenIssuers(namespace: Namespace): TokenIssuer[] {
  return deployedContracts(namespace, tokenRoles).flatMap(({ datasourceId, contract, chainId, address }) => {
    if (address === undefined) return [];
    const isRegistrar = contract.role === "baseRegistrar";
    return [
      {
        chainId,
        address,
        assetNamespace: isRegistrar ? "erc721" : "erc1155",
        managedNode: isRegistrar ? managedNameOf(namespace, datasourceId).node : undefined,
        isNameWrapper: contract.role === "nameWrapper",
        mintsOverLivingTokens: contract.role === "threednsToken",
      },
    ];
  });
}

/** A base registrar: its CAIP-10 id, the node whose subnames it issues, and the plugin that indexes these names. */
export type Subregistry = { subregistryId: string; chainId: number; node: Hex; namesPlugin: string };

/** The base registrars of a namespace, which the plugin `registrars` indexes. */
export function indexedSubregistries(namespace: Namespace): Subregistry[] {
  return deployments.flatMap((deployment: Deployment) =>
    deployedContracts(namespace, ["baseRegistrar"], [deployment]).flatMap(
      ({ datasourceId, chainId, address }) =>
        address === undefined
          ? []
          : [
              {
                subregistryId: accountId(chainId, address),
                chainId,
                node: managedNameOf(namespace, datasourceId).node,
                namesPlugin: deployment.plugin,
              },
            ],
    ),
  );
}

/** Node of the name that a token stands for. */
export function nodeOfToken({ managedNode }: TokenIssuer, tokenId: bigint): Hex {
  const id = tokenIdToHex(tokenId);
  return managedNode === undefined ? id : subnode(managedNode, id);
}
