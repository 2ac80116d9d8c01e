// Generated from the schema of /subgraph by generate.ts. Do not edit.

export type _Block_ = {
  hash: string | null;
  number: number;
  timestamp: number | null;
  parentHash: string | null;
};

export type _Meta_ = {
  block: _Block_;
  deployment: string;
  hasIndexingErrors: boolean;
};

export type Domain = {
  id: string;
  name: string | null;
  labelName: string | null;
  labelhash: string | null;
  parent: Domain | null;
  subdomains: Domain[];
  subdomainCount: number;
  resolvedAddress: Account | null;
  resolver: Resolver | null;
  ttl: string | null;
  isMigrated: boolean;
  createdAt: string;
  owner: Account;
  registrant: Account | null;
  wrappedOwner: Account | null;
  expiryDate: string | null;
  registration: Registration | null;
  wrappedDomain: WrappedDomain | null;
  events: DomainEvent[];
  version: string | null;
  reserved: boolean;
  migratedAt: string | null;
  registry: string | null;
  registryPath: string[] | null;
  effectiveOwner: string | null;
  effectiveResolver: string | null;
  effectiveExpiryDate: string | null;
  graceEndDate: string | null;
  parentId: string | null;
  resolvedAddressId: string | null;
  resolverId: string | null;
  ownerId: string;
  registrantId: string | null;
  wrappedOwnerId: string | null;
  transfers: Transfer[];
  newOwners: NewOwner[];
  newResolvers: NewResolver[];
  newTTLs: NewTTL[];
  wrappedTransfers: WrappedTransfer[];
  nameWrappeds: NameWrapped[];
  nameUnwrappeds: NameUnwrapped[];
  fusesSets: FusesSet[];
  expiryExtendeds: ExpiryExtended[];
};

export type DomainEvent = {
  id: string;
  blockNumber: number;
  transactionID: string;
  domain: Domain;
  domainId: string;
};

export type Transfer = {
  id: string;
  blockNumber: number;
  transactionID: string;
  domain: Domain;
  owner: Account;
  domainId: string;
  ownerId: string;
};

export type NewOwner = {
  id: string;
  blockNumber: number;
  transactionID: string;
  domain: Domain;
  parentDomain: Domain;
  owner: Account;
  domainId: string;
  parentDomainId: string;
  ownerId: string;
};

export type NewResolver = {
  id: string;
  blockNumber: number;
  transactionID: string;
  domain: Domain;
  resolver: Resolver;
  domainId: string;
  resolverId: string;
};

export type NewTTL = {
  id: string;
  blockNumber: number;
  transactionID: string;
  domain: Domain;
  ttl: string;
  domainId: string;
};

export type WrappedTransfer = {
  id: string;
  blockNumber: number;
  transactionID: string;
  domain: Domain;
  owner: Account;
  domainId: string;
  ownerId: string;
};

export type NameWrapped = {
  id: string;
  blockNumber: number;
  transactionID: string;
  domain: Domain;
  name: string | null;
  fuses: number;
  owner: Account;
  expiryDate: string;
  domainId: string;
  ownerId: string;
};

export type NameUnwrapped = {
  id: string;
  blockNumber: number;
  transactionID: string;
  domain: Domain;
  owner: Account;
  domainId: string;
  ownerId: string;
};

export type FusesSet = {
  id: string;
  blockNumber: number;
  transactionID: string;
  domain: Domain;
  fuses: number;
  domainId: string;
};

export type ExpiryExtended = {
  id: string;
  blockNumber: number;
  transactionID: string;
  domain: Domain;
  expiryDate: string;
  domainId: string;
};

export type Registration = {
  id: string;
  domain: Domain;
  registrationDate: string;
  expiryDate: string;
  cost: string | null;
  registrant: Account;
  labelName: string | null;
  events: RegistrationEvent[];
  domainId: string;
  registrantId: string;
  nameRegistereds: NameRegistered[];
  nameReneweds: NameRenewed[];
  nameTransferreds: NameTransferred[];
};

export type RegistrationEvent = {
  id: string;
  blockNumber: number;
  transactionID: string;
  registration: Registration;
  registrationId: string;
};

export type NameRegistered = {
  id: string;
  blockNumber: number;
  transactionID: string;
  registration: Registration;
  registrant: Account;
  expiryDate: string;
  registrationId: string;
  registrantId: string;
};

export type NameRenewed = {
  id: string;
  blockNumber: number;
  transactionID: string;
  registration: Registration;
  expiryDate: string;
  registrationId: string;
};

export type NameTransferred = {
  id: string;
  blockNumber: number;
  transactionID: string;
  registration: Registration;
  newOwner: Account;
  registrationId: string;
  newOwnerId: string;
};

export type WrappedDomain = {
  id: string;
  domain: Domain;
  expiryDate: string;
  fuses: number;
  owner: Account;
  name: string | null;
  domainId: string;
  ownerId: string;
};

export type Account = {
  id: string;
  domains: Domain[];
  wrappedDomains: WrappedDomain[] | null;
  registrations: Registration[] | null;
};

export type Resolver = {
  id: string;
  domain: Domain | null;
  address: string;
  addr: Account | null;
  contentHash: string | null;
  texts: string[] | null;
  coinTypes: string[] | null;
  events: ResolverEvent[];
  domainId: string | null;
  addrId: string | null;
  addrChangeds: AddrChanged[];
  multicoinAddrChangeds: MulticoinAddrChanged[];
  nameChangeds: NameChanged[];
  abiChangeds: AbiChanged[];
  pubkeyChangeds: PubkeyChanged[];
  textChangeds: TextChanged[];
  contenthashChangeds: ContenthashChanged[];
  interfaceChangeds: InterfaceChanged[];
  authorisationChangeds: AuthorisationChanged[];
  versionChangeds: VersionChanged[];
};

export type ResolverEvent = {
  id: string;
  blockNumber: number;
  transactionID: string;
  resolver: Resolver;
  resolverId: string;
};

export type AddrChanged = {
  id: string;
  blockNumber: number;
  transactionID: string;
  resolver: Resolver;
  addr: Account;
  resolverId: string;
  addrId: string;
};

export type MulticoinAddrChanged = {
  id: string;
  blockNumber: number;
  transactionID: string;
  resolver: Resolver;
  coinType: string;
  addr: string;
  resolverId: string;
};

export type NameChanged = {
  id: string;
  blockNumber: number;
  transactionID: string;
  resolver: Resolver;
  name: string;
  resolverId: string;
};

export type AbiChanged = {
  id: string;
  blockNumber: number;
  transactionID: string;
  resolver: Resolver;
  contentType: string;
  resolverId: string;
};

export type PubkeyChanged = {
  id: string;
  blockNumber: number;
  transactionID: string;
  resolver: Resolver;
  x: string;
  y: string;
  resolverId: string;
};

export type TextChanged = {
  id: string;
  blockNumber: number;
  transactionID: string;
  resolver: Resolver;
  key: string;
  value: string | null;
  resolverId: string;
};

export type ContenthashChanged = {
  id: string;
  blockNumber: number;
  transactionID: string;
  resolver: Resolver;
  hash: string;
  resolverId: string;
};

export type InterfaceChanged = {
  id: string;
  blockNumber: number;
  transactionID: string;
  resolver: Resolver;
  interfaceID: string;
  implementer: string;
  resolverId: string;
};

export type AuthorisationChanged = {
  id: string;
  blockNumber: number;
  transactionID: string;
  resolver: Resolver;
  owner: string;
  target: string;
  isAuthorized: boolean;
  resolverId: string;
};

export type VersionChanged = {
  id: string;
  blockNumber: number;
  transactionID: string;
  resolver: Resolver;
  version: string;
  resolverId: string;
};
