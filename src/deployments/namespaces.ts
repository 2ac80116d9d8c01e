import { type Hex, namehash } from "viem";
import { accountId, rootNode, subnode, tokenIdToHex } from "../ens/ids.ts";
import { labelhash } from "../ens/labels.ts";
import type {
  ContractGroup,
  ContractOf,
  Datasource,
  Deployment,
  ManagedName,
  Namespace,
  NamespaceId,
  Role,
} from "./deployment.ts";
import { deployments } from "./deployments.ts";
import { ens, rootDatasource } from "./ens.ts";
import { ensv2, ensv2Datasources, ethName } from "./ensv2.ts";
import { reverseRegistrars, seaport } from "./other-contracts.ts";

const [root, ...others] = deployments;

/** All known contracts: the deployments, the root chain's marketplace, the reverse registrars. */
export const contractGroups: readonly ContractGroup[] = [root, seaport, ...others, reverseRegistrars];

/** Datasources of the public networks, by namespace id. */
export const namespaces: Readonly<Record<NamespaceId, Namespace>> = {
  mainnet: buildNamespace("mainnet"),
  sepolia: buildNamespace("sepolia"),
  "sepolia-v2": { ...buildNamespace("sepolia"), ...buildNamespace("sepolia-v2") },
  holesky: buildNamespace("holesky"),
  "ens-test-env": buildNamespace("ens-test-env"),
};

/** A contract with a role, as a namespace has it. */
export type Deployed<R extends Role = Role> = {
  group: ContractGroup;
  datasourceId: string;
  name: string;
  contract: ContractOf<R>;
  chainId: number;
  /** Undefined for any contract of the chain. */
  address: Hex | undefined;
};

/** A namespace's contracts with one of the roles: group by group, datasource by datasource, in declared order. */
export function deployedContracts<R extends Role>(
  namespace: Namespace,
  roles: readonly R[],
  groups: readonly ContractGroup[] = contractGroups,
): Deployed<R>[] {
  return groups.flatMap((group) =>
    group.datasources.flatMap((datasourceId) => {
      const datasource = namespace[datasourceId];
      return Object.entries(group.contracts).flatMap(([name, contract]) => {
        const source = datasource?.contracts[name];
        if (datasource === undefined || source === undefined || !hasRole(contract, roles)) return [];
        return [
          { group, datasourceId, name, contract, chainId: datasource.chainId, address: source.address },
        ];
      });
    }),
  );
}

/** Whether an address (lower case) is a contract of the namespace. */
export function isContractOf(namespace: Namespace): (chainId: number, address: Hex) => boolean {
  const known = new Set(
    Object.values(namespace).flatMap(({ chainId, contracts }) =>
      Object.values(contracts).map(({ address }) => `${chainId}:${address?.toLowerCase()}`),
    ),
  );
  return (chainId, address) => known.has(`${chainId}:${address}`);
}

/** The name whose subnames the contracts of a datasource issue. Throws if the datasource has none. */
export function findManagedName(namespace: Namespace, datasourceId: string): ManagedName {
  const name = namespace[datasourceId]?.managedName;
  if (name === undefined) throw new Error(`Datasource "${datasourceId}" manages no name.`);
  return { name, node: namehash(name) };
}

/**
 * The labels of the names that contracts of a namespace issue subnames of, by labelhash. No label set needs to have
 * them.
 */
export const managedLabels = (namespace: Namespace): ReadonlyMap<Hex, string> =>
  new Map(
    Object.values(namespace)
      .flatMap(({ managedName }) => managedName?.split(".") ?? [])
      .map((label) => [labelhash(label), label]),
  );

/** The datasource with its own managed name, else with its deployment's. */
export function withManagedName(datasourceId: string, source: Datasource): Datasource {
  const of = deployments.find(({ datasources }: Deployment) => datasources.includes(datasourceId));
  const managedName = source.managedName ?? (of as Deployment | undefined)?.managedName;
  return managedName === undefined ? source : { ...source, managedName };
}

/** Names in the root datasource of the resolvers that answer from a deployment's registry. */
export function listBridges({ bridges = {} }: Deployment): string[] {
  return [...new Set(Object.values(bridges).flatMap((contracts) => Object.keys(contracts)))];
}

/** Key of a contract entry of a deployment's own plugin; with the datasource if there are several. */
export function namesKey(
  { plugin, datasources }: Deployment,
  datasourceId: string,
  contract: string,
): string {
  return datasources.length > 1 ? `${plugin}/${datasourceId}/${contract}` : `${plugin}/${contract}`;
}

/** The namespace of the names that a plugin indexes: `ens`, or the plugin's own. */
export const namespaceOfPlugin = (plugin: string): string =>
  plugin === ens.plugin || plugin === ensv2.plugin ? "ens" : plugin;

function hasRole<R extends Role>(contract: { role: Role }, roles: readonly R[]): contract is ContractOf<R> {
  return roles.some((role) => role === contract.role);
}

function buildNamespace(id: NamespaceId): Namespace {
  const tables = contractGroups.flatMap((group) => Object.entries(group.namespaces[id] ?? {}));
  const namespace: Namespace = Object.fromEntries(
    tables.map(([datasourceId, source]) => [datasourceId, withManagedName(datasourceId, source)]),
  );
  const rootOfTable = namespace[rootDatasource];
  if (rootOfTable === undefined) return namespace;
  const bridges = deployments.map((deployment: Deployment) => deployment.bridges?.[id] ?? {});
  return {
    ...namespace,
    [rootDatasource]: { ...rootOfTable, contracts: Object.assign({}, rootOfTable.contracts, ...bridges) },
  };
}

/** A contract whose tokens stand for names. */
export type TokenIssuer = {
  chainId: number;
  address: Hex;
  assetNamespace: "erc721" | "erc1155";
  /** Node whose direct subnames the tokens are (token id: labelhash); undefined if the token id is the node. */
  managedNode: Hex | undefined;
  isNameWrapper: boolean;
  /** Whether the contract mints over a living token without burning it first. */
  mintsOverLivingTokens: boolean;
  /** The plugin that indexes these names. */
  namesPlugin: string;
};

const tokenRoles = ["baseRegistrar", "nameWrapper", "threednsToken"] as const satisfies Role[];

/** Every token issuer of a namespace: base registrars, name wrappers, 3DNS tokens. */
export function tokenIssuers(namespace: Namespace): TokenIssuer[] {
  return deployments.flatMap((deployment: Deployment) =>
    deployedContracts(namespace, tokenRoles, [deployment]).flatMap(
      ({ datasourceId, contract: { role }, chainId, address }): TokenIssuer[] =>
        address === undefined
          ? []
          : [
              {
                chainId,
                address,
                assetNamespace: role === "baseRegistrar" ? "erc721" : "erc1155",
                managedNode:
                  role === "baseRegistrar" ? findManagedName(namespace, datasourceId).node : undefined,
                isNameWrapper: role === "nameWrapper",
                mintsOverLivingTokens: role === "threednsToken",
                namesPlugin: deployment.plugin,
              },
            ],
    ),
  );
}

/**
 * A contract that issues names: its CAIP-10 id, the node whose subnames it issues, and the plugin that indexes them.
 */
export type Subregistry = { subregistryId: string; chainId: number; node: Hex; namesPlugin: string };

/** The base registrars of a namespace, and the .eth registries of ENSv2 if the plugin `ensv2` is active. */
export function indexedSubregistries(namespace: Namespace, plugins: readonly string[] = []): Subregistry[] {
  const ofV1 = tokenIssuers(namespace).flatMap(({ chainId, address, managedNode: node, namesPlugin }) =>
    node === undefined ? [] : [{ subregistryId: accountId(chainId, address), chainId, node, namesPlugin }],
  );
  return plugins.includes(ensv2.plugin) ? [...ofV1, ...v2Subregistries(namespace).values()] : ofV1;
}

/** The .eth registries of ENSv2 by datasource, the set in use first. */
export function v2Subregistries(namespace: Namespace): ReadonlyMap<string, Subregistry> {
  const found = ensv2Datasources.flatMap((id): [string, Subregistry][] => {
    const { chainId = 0, contracts } = namespace[id] ?? {};
    const address = contracts?.["ETHRegistry"]?.address;
    if (address === undefined) return [];
    const subregistryId = accountId(chainId, address);
    return [[id, { subregistryId, chainId, node: ethName.node, namesPlugin: ensv2.plugin }]];
  });
  return new Map(found);
}

/** Node of the name that a token stands for. */
export function nodeOfToken({ managedNode }: TokenIssuer, tokenId: bigint): Hex {
  const id = tokenIdToHex(tokenId);
  return managedNode === undefined ? id : subnode(managedNode, id);
}

/** Whether a contract's name is that of an implementation of registries that users deploy. */
export const isUserRegistryCode = (name: string) => /^UserRegistryImpl\d*$/.test(name);

/** Whether a contract's name is that of an implementation of resolvers that users deploy. */
export const isResolverCode = (name: string) => name.endsWith("ResolverImpl");

/**
 * Contracts of all ENSv2 sets of a namespace, by address in lower case: the registries of a chain are read together.
 */
export function v2KnownContracts(namespace: Namespace) {
  const named = (...names: string[]) =>
    ensv2Datasources.flatMap((id) =>
      names.flatMap(
        (name) => (namespace[id]?.contracts[name]?.address?.toLowerCase() as Hex | undefined) ?? [],
      ),
    );
  const all = ensv2Datasources.flatMap((id) => Object.keys(namespace[id]?.contracts ?? {}));
  const under = (name: string, above: ManagedName) =>
    named(name).map((registry) => [registry, above] as const);
  return {
    /** Contracts that register migrated names. */
    migrators: new Set(named("UnlockedMigrationController", "LockedMigrationController")),
    /** Migrators that deploy registries of locked names. */
    lockedMigrators: new Set(named("LockedMigrationController")),
    /** Implementations of registries of locked names. */
    wrapperImplementations: new Set(named("WrapperRegistryImpl")),
    /** Owners of tokens of names that were migrated or had expired. */
    graveyards: new Set<string>(named("Graveyard")),
    /** Nodes that the .eth registries are under. */
    nodes: new Map(named("ETHRegistry").map((registry) => [registry, ethName.node])),
    /** The root and .eth registries, and the names that they are under. */
    fixedRegistries: new Map([
      ...under("RootRegistry", { name: "", node: rootNode }),
      ...under("ETHRegistry", ethName),
    ]),
    /**
     * Implementations of registries that users deploy. Without any, every registry that the factory deployed counts.
     */
    userImplementations: new Set(named(...new Set(all.filter(isUserRegistryCode)))),
    resolverImplementations: new Set(named(...new Set(all.filter(isResolverCode)))),
  };
}

export type V2KnownContracts = ReturnType<typeof v2KnownContracts>;
