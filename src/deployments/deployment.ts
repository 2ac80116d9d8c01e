import type { Abi, AbiEvent, GetEventArgs, Hex } from "viem";

// Contracts that belong together, as data: their roles, the events of their controllers and their addresses in each
// namespace. src/config derives contract entries from a deployment, and src/handlers its handlers.

export const namespaceIds = ["mainnet", "sepolia", "sepolia-v2", "holesky", "ens-test-env"] as const;

export type NamespaceId = (typeof namespaceIds)[number];

/** Location of a contract. Without an address, every contract of the chain that emits one of the events counts. */
export type ContractSource = { address?: Hex; startBlock: number; endBlock?: number };

/** A contract at an address, from its start block on. */
export function at(address: Hex, startBlock: number, endBlock?: number): ContractSource {
  return { address, startBlock, ...(endBlock === undefined ? {} : { endBlock }) };
}

/** Contracts of one deployment on one chain, by name, and the name whose subnames its registrar issues. */
export type Datasource = {
  chainId: number;
  managedName?: string;
  contracts: Record<string, ContractSource>;
};

/** A datasource without a managed name of its own. */
export function datasource(chainId: number, contracts: Datasource["contracts"]): Datasource {
  return { chainId, contracts };
}

/** All datasources of one name service, by id. */
export type Namespace = Record<string, Datasource>;

/** The name whose subnames a registrar issues: its node and its text (`eth`). */
export type ManagedName = { node: Hex; name: string };

/** The names of an ABI's events. */
export type EventName<A extends Abi> = Extract<A[number], AbiEvent>["name"];

/** The decoded arguments of an event, by name. An indexed string is its hash. */
export type EventArgs<Item extends AbiEvent> = GetEventArgs<
  readonly [Item],
  Item["name"],
  { EnableUnion: false; IndexedOnly: false; Required: true }
>;

/** The event with a name; a union if several events have it. */
export type EventOf<A extends Abi, Name extends string> = Extract<A[number], AbiEvent & { name: Name }>;

/** A resolver whose responses follow from its events alone. */
export type StaticResolver = {
  /** Whether it answers for subnames of the node that it is set on (ENSIP-10). */
  isExtended: boolean;
  /** Whether an EVM chain's missing address falls back to the default one (ENSIP-19). */
  hasDefaultAddress: boolean;
};

/**
 * What a controller's event reports about a registration or renewal. Prices are in wei, absent if the event carries
 * none.
 */
export type ControllerFacts = {
  label: string;
  labelhash: Hex;
  price?: { baseCost: bigint; premium: bigint };
  /** 32 bytes, as emitted. */
  encodedReferrer?: Hex;
  /** End of a lease renewed through the name wrapper, which also moves the expiry of the wrapper's entry. */
  renewedInWrapper?: bigint;
};

/** What a contract does. The role decides its ABI, its plugins and its handlers. */
export type Contract =
  /**
   * Owners, resolvers and TTLs of nodes. The root chain's was deployed twice: `old` counts until `new` names a node.
   */
  | { role: "registry"; generation: "only" | "old" | "new" }
  /** Records of names: of one contract with `static`, else of any contract of the chain. */
  | { role: "resolver"; static?: StaticResolver }
  /**
   * Issues subnames of the managed name as ERC-721 tokens; `registersWithRecords`: emits `NameRegisteredWithRecord`
   * too.
   */
  | { role: "baseRegistrar"; registersWithRecords?: true }
  | Controller
  /** Renews names through a controller and reports the referrer after it. */
  | { role: "referrals" }
  /** Names as ERC-1155 tokens, with fuses. */
  | { role: "nameWrapper" }
  /** Registry, registrar and ERC-1155 token of 3DNS in one contract; its names have the datasource's resolver. */
  | { role: "threednsToken" }
  /** A resolver known by its address, for resolution only. */
  | ({ role: "staticResolver" } & StaticResolver)
  /** Names of accounts: `default` for every EVM chain, `chain` for its own. */
  | { role: "reverseRegistrar"; scope: "default" | "chain" }
  /** Resolves names of accounts on the root chain (ENSIP-19). */
  | { role: "reverseResolver" }
  /** Where names are sold: Seaport. */
  | { role: "marketplace" }
  /** A registry of ENSv2 that no factory deployed; names are read from the root on. */
  | { role: "v2Registry"; isRoot: boolean }
  /** Deploys registries and resolvers of users as proxies. */
  | { role: "v2Factory" }
  /** Sells names for a payment token, or renews those of the first generation (`isOfV1`). */
  | { role: "v2Registrar"; isOfV1: boolean }
  /** Announces the text of labels. */
  | { role: "v2LabelStore" }
  /** Creates accounts that act for their owners. */
  | { role: "v2AccountFactory" };

/** Sells and renews names of a base registrar. `read` has a reader for each event that counts. */
export type Controller = {
  role: "controller";
  abi: Abi;
  read: Readonly<Record<string, (args: never) => ControllerFacts>>;
};

export type Role = Contract["role"];

export type ContractOf<R extends Role> = Extract<Contract, { role: R }>;

/** Contracts that belong together: the same, by name, in each of the datasources that have them. */
export type ContractGroup = {
  datasources: readonly string[];
  /** Roles by contract name. Entries, and so the handlers of one log, keep this order. */
  contracts: Readonly<Record<string, Contract>>;
  namespaces: Readonly<Partial<Record<NamespaceId, Namespace>>>;
};

/** Contracts that issue names, and the plugin that indexes these names. */
export type Deployment<PluginId extends string = string> = ContractGroup & {
  plugin: PluginId;
  /** Datasources without which the plugin cannot run; all if undefined. */
  required?: readonly string[];
  /** Managed name of datasources without one of their own. */
  managedName?: string;
  /** Resolvers on the root chain that answer from this deployment's registry, as contracts of the root datasource. */
  bridges?: Readonly<Partial<Record<NamespaceId, Record<string, ContractSource>>>>;
};

export function controller<const A extends Abi>(
  abi: A,
  read: { [Name in EventName<A>]: (args: EventArgs<EventOf<A, Name>>) => ControllerFacts },
): Controller {
  return { role: "controller", abi, read };
}

/** Reads an event whose argument `name` is the label and `label` its hash; free unless prices are given. */
export const named = (
  { name, label }: { name: string; label: Hex },
  baseCost = 0n,
  premium = 0n,
): ControllerFacts => ({ label: name, labelhash: label, price: { baseCost, premium } });
