import type { Hex } from "viem";
import { findChain } from "../../deployments/chains.ts";
import type { Deployment, Namespace } from "../../deployments/deployment.ts";
import { deployments, namePlugins } from "../../deployments/deployments.ts";
import { rootDatasource } from "../../deployments/ens.ts";
import { deployedContracts, findManagedName, namespaceOfPlugin } from "../../deployments/namespaces.ts";
import { zeroAddress } from "../../ens/ids.ts";
import { gracePeriod } from "../../ens/registrations.ts";
import { type CurrentStatus, findIndexedBlock } from "../../status/types.ts";
import type { NamespaceRules } from "./stored-name.ts";
import { findV2Contracts, type V2Contracts } from "./v2-names.ts";

/** A deployment's namespace: where its names live and when they end. 3DNS leases names below any top-level domain. */
export type IndexedNamespace = NamespaceRules & {
  network: string;
  /** Emits the events of leases; undefined for 3DNS. */
  registrar: Hex | undefined;
  /** Emits the events of owners and resolvers; undefined for 3DNS. */
  registry: Hex | undefined;
  /** The registry that it replaced, if any. */
  oldRegistry: Hex | undefined;
  isRoot: boolean;
  /** Contracts that name accounts (ENSIP-19), by chain. The root namespace has all of them, the others none. */
  reverseRegistrars: ReadonlyMap<number, Hex>;
  /** The contracts of ENSv2, on the root chain and if ENSv2 is indexed. */
  v2?: V2Contracts | undefined;
};

/** The indexed namespaces as a disjunction, for descriptions. */
export const namespacesText: string = new Intl.ListFormat("en-GB", { type: "disjunction" }).format(
  namePlugins.map((plugin) => `\`${namespaceOfPlugin(plugin)}\``),
);

/** The namespaces of the names that the plugins index, the root chain's first. */
export function indexedNamespaces(namespace: Namespace, plugins: readonly string[]): IndexedNamespace[] {
  const found = deployments
    .filter(({ plugin }) => plugins.includes(plugin) && namePlugins.includes(plugin))
    .flatMap((deployment: Deployment) =>
      deployment.datasources.flatMap((id) => {
        const source = namespace[id];
        return source === undefined ? [] : [buildIndexedNamespace({ namespace, plugins }, deployment, id)];
      }),
    );
  return found.sort((a, b) => Number(b.isRoot) - Number(a.isRoot));
}

function buildIndexedNamespace(
  { namespace, plugins }: { namespace: Namespace; plugins: readonly string[] },
  deployment: Deployment,
  id: string,
): IndexedNamespace {
  const chainId = namespace[id]?.chainId ?? 0;
  const managed = namespace[id]?.managedName === undefined ? undefined : findManagedName(namespace, id);
  const isRoot = id === rootDatasource;
  const contracts = deployedContracts(
    namespace,
    ["nameWrapper", "baseRegistrar", "registry", "threednsToken"],
    [deployment],
  ).filter(({ datasourceId }) => datasourceId === id);
  const addressOf = (isMeant: (contract: (typeof contracts)[number]["contract"]) => boolean) =>
    lowerCase(contracts.find(({ contract }) => isMeant(contract))?.address);
  const registry = addressOf((one) => one.role === "registry" && one.generation !== "old");
  const linker = isRoot ? undefined : (registry ?? addressOf(({ role }) => role === "threednsToken"));
  return {
    namespace: namespaceOfPlugin(deployment.plugin),
    chainId,
    network: findChain(chainId).network,
    leases: managed?.node,
    nameWrapper: addressOf(({ role }) => role === "nameWrapper"),
    registrar: addressOf(({ role }) => role === "baseRegistrar"),
    registry,
    oldRegistry: addressOf((one) => one.role === "registry" && one.generation === "old"),
    linker: plugins.includes("protocol-acceleration") ? linker : undefined,
    grace: managed === undefined ? 0 : Number(gracePeriod),
    isRoot,
    reverseRegistrars: new Map(isRoot ? listReverseRegistrars(namespace) : []),
    v2: isRoot && plugins.includes("ensv2") ? findV2Contracts(namespace) : undefined,
  };
}

const lowerCase = (address: Hex | undefined) => address?.toLowerCase() as Hex | undefined;

const listReverseRegistrars = (namespace: Namespace) =>
  deployedContracts(namespace, ["reverseRegistrar"]).flatMap(({ chainId, address }): [number, Hex][] => {
    const found = lowerCase(address);
    return found === undefined ? [] : [[chainId, found]];
  });

/** Whether a registrar leases the namespace's names on a chain other than the root chain. */
export const isSubregistry = ({ isRoot, leases }: IndexedNamespace): boolean =>
  !isRoot && leases !== undefined;

/** Whether an address only holds names for others or for nobody: zero, name wrappers, the Graveyard of ENSv2. */
export function isCustodian(namespaces: readonly IndexedNamespace[], address: Hex): boolean {
  if (address === zeroAddress) return true;
  return namespaces.some(({ nameWrapper, v2 }) => nameWrapper === address || v2?.graveyard === address);
}

/** The namespace of a row. */
export function homeOfRow(
  namespaces: readonly IndexedNamespace[],
  { home: index }: { home: number },
): IndexedNamespace {
  const found = namespaces[index - 1];
  if (found === undefined) throw new Error(`There is no home ${index}.`);
  return found;
}

/** Unix seconds of the last indexed block on each namespace's chain. */
export function listTimes(namespaces: readonly IndexedNamespace[], { snapshot }: CurrentStatus): number[] {
  const { chains, omnichainIndexingCursor } = snapshot.omnichainSnapshot;
  return namespaces.map(
    ({ chainId }) => findIndexedBlock(chains[String(chainId)])?.timestamp ?? omnichainIndexingCursor,
  );
}
