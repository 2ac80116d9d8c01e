import { parseAbi } from "viem";

/** Events that only registries emit: entries, pointers, roles, claims. */
export const registryV2Abi = parseAbi([
  "event LabelRegistered(uint256 indexed tokenId, bytes32 indexed labelHash, string label, address owner, uint64 expiry, address indexed sender)",
  "event LabelReserved(uint256 indexed tokenId, bytes32 indexed labelHash, string label, uint64 expiry, address indexed sender)",
  "event LabelUnregistered(uint256 indexed tokenId, address indexed sender)",
  "event ExpiryUpdated(uint256 indexed tokenId, uint64 indexed newExpiry, address indexed sender)",
  "event SubregistryUpdated(uint256 indexed tokenId, address indexed subregistry, address indexed sender)",
  "event ResolverUpdated(uint256 indexed tokenId, address indexed resolver, address indexed sender)",
  "event TokenRegenerated(uint256 indexed oldTokenId, uint256 indexed newTokenId)",
  "event TokenResource(uint256 indexed tokenId, uint256 indexed resource)",
  "event ParentUpdated(address indexed parent, string label, address indexed sender)",
  "event EACRolesChanged(uint256 indexed resource, address indexed account, uint256 oldRoleBitmap, uint256 newRoleBitmap)",
]);

/** The event of the factory that deploys registries and resolvers of users. Their own first logs precede it. */
export const proxyFactoryAbi = parseAbi([
  "event ProxyDeployed(address indexed sender, address indexed proxyAddress, uint256 salt, address implementation)",
]);

/** The event of the label store, once for each label of the chain. */
export const labelStoreAbi = parseAbi(["event Label(bytes32 indexed labelHash, string label)"]);

/** The event of the factory of accounts that act for their owners (hidden contract accounts). */
export const accountFactoryAbi = parseAbi([
  "event AccountCreated(address indexed hcaOwner, address indexed hca)",
]);

/** Events of the .eth registrar and of the contract that renews first-generation names. */
export const leaseAbi = parseAbi([
  "event NameRegistered(uint256 indexed tokenId, string label, address owner, address subregistry, address resolver, uint64 duration, address paymentToken, bytes32 indexed referrer, uint256 base, uint256 premium)",
  "event NameRenewed(uint256 indexed tokenId, string label, uint64 duration, uint64 newExpiry, address paymentToken, bytes32 indexed referrer, uint256 amount)",
]);

/**
 * Events of the factory's proxies: upgrades; of resolvers also records under record ids, aliases and resources of
 * roles.
 */
export const resolverV2Abi = parseAbi([
  "event Upgraded(address indexed implementation)",
  "event ResolverCreated()",
  "event Linked(uint256 indexed recordId, bytes32 indexed node, bytes name)",
  "event Cleared(uint256 indexed recordId)",
  "event AddressUpdated(uint256 indexed recordId, uint256 coinType, bytes addressBytes)",
  "event TextUpdated(uint256 indexed recordId, string indexed keyHash, string key, string value)",
  "event DataUpdated(uint256 indexed recordId, string indexed keyHash, string key, bytes value)",
  "event ContenthashUpdated(uint256 indexed recordId, bytes hash)",
  "event ABIUpdated(uint256 indexed recordId, uint256 indexed contentType)",
  "event InterfaceUpdated(uint256 indexed recordId, bytes4 indexed interfaceId, address implementer)",
  "event NameUpdated(uint256 indexed recordId, string primaryName)",
  "event AliasChanged(bytes indexed fromHash, bytes indexed toHash, bytes fromName, bytes toName)",
  "event NamedResource(uint256 indexed resource, bytes name)",
  "event NamedTextResource(uint256 indexed resource, bytes name, bytes32 indexed keyHash, string key)",
  "event NamedDataResource(uint256 indexed resource, bytes name, bytes32 indexed keyHash, string key)",
  "event NamedAddrResource(uint256 indexed resource, bytes name, uint256 indexed coinType)",
  "event ResourceArgument(uint256 indexed resource, bytes arg)",
]);
