import type { Hex } from "viem";
import { nodeOfName } from "../ens/names.ts";
import type { Datasource, Namespace } from "./datasources.ts";

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

/** Every token issuer of a namespace: base registrars, name wrappers, 3DNS tokens. */
export function tokenIssuers(namespace: Namespace): TokenIssuer[] {
  return Object.values(namespace).flatMap(issuersOf);
}

function issuersOf({ chainId, managedName, contracts }: Datasource): TokenIssuer[] {
  const issuer = (contract: string, kind: Omit<TokenIssuer, "chainId" | "address">): TokenIssuer[] => {
    const address = contracts[contract]?.address;
    return address === undefined ? [] : [{ chainId, address, ...kind }];
  };
  const erc1155 = { assetNamespace: "erc1155", managedNode: undefined } as const;
  return [
    ...(managedName === undefined
      ? []
      : issuer("BaseRegistrar", {
          assetNamespace: "erc721",
          managedNode: nodeOfName(managedName),
          isNameWrapper: false,
          mintsOverLivingTokens: false,
        })),
    ...issuer("NameWrapper", { ...erc1155, isNameWrapper: true, mintsOverLivingTokens: false }),
    ...issuer("ThreeDNSToken", { ...erc1155, isNameWrapper: false, mintsOverLivingTokens: true }),
  ];
}
