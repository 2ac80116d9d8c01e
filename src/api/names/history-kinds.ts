// Which events histories show, and what each is there.

/** The kinds of entries; further ones may come. */
export const historyTypes = [
  "registration",
  "renewal",
  "release",
  "expiry",
  "transfer",
  "authority",
  "resolver",
  "record",
  "primary_name",
  "permission",
  "subregistry",
  "migration",
  "reservation",
] as const;
export type HistoryType = (typeof historyTypes)[number];

/** Events of domains. */
export const domainEvents: Readonly<Record<string, HistoryType>> = {
  WrappedTransfer: "transfer",
  Transfer: "authority",
  NewOwner: "authority",
  NameWrapped: "authority",
  NameUnwrapped: "authority",
  NewResolver: "resolver",
  FusesSet: "permission",
  ExpiryExtended: "expiry",
};
/** Events of registrations. */
export const registrationEvents: Readonly<Record<string, HistoryType>> = {
  NameRegistered: "registration",
  NameRenewed: "renewal",
  NameTransferred: "transfer",
};
/** Events of resolvers. */
export const resolverEvents: Readonly<Record<string, HistoryType>> = {
  AuthorisationChanged: "permission",
  AddrChanged: "record",
  MulticoinAddrChanged: "record",
  NameChanged: "record",
  ReverseNameChanged: "primary_name",
  AbiChanged: "record",
  PubkeyChanged: "record",
  TextChanged: "record",
  ContenthashChanged: "record",
  InterfaceChanged: "record",
  VersionChanged: "record",
};
/** Events of entries in ENSv2. */
export const entryEvents: Readonly<Record<string, HistoryType>> = {
  LabelRegistered: "registration",
  Migration: "migration",
  LabelReserved: "reservation",
  LabelUnregistered: "release",
  ExpiryUpdated: "renewal",
  TransferSingle: "transfer",
  TransferBatch: "transfer",
  ResolverUpdated: "resolver",
  SubregistryUpdated: "subregistry",
  EACRolesChanged: "permission",
};
/** Event of reverse registrars, which name accounts on layer-two chains and for all chains without a name of their own (ENSIP-19). */
export const reverseRegistrarEvent = "NameForAddrChanged";

const typeOfEvent: Readonly<Record<string, HistoryType>> = {
  ...domainEvents,
  ...registrationEvents,
  ...resolverEvents,
  ...entryEvents,
  [reverseRegistrarEvent]: "primary_name",
  Release: "release",
};

/** Events of registries of ENSv2. */
export const emittedByRegistriesOfV2 = Object.keys(entryEvents);

/** Whether an event is one of an entry in ENSv2. */
export const isEntryEvent = (event: string): boolean => event in entryEvents;

/** The names of events, and those that stand for some of them: `Release`, `Migration` and `ReverseNameChanged`. */
export const eventKinds = Object.keys(typeOfEvent);

/** The type of the entry that an event is. */
export const entryType = (event: string): HistoryType => typeOfEvent[event] ?? "record";

/** Events of the name wrapper. */
export const wrapperEvents = [
  "NameWrapped",
  "NameUnwrapped",
  "FusesSet",
  "ExpiryExtended",
  "WrappedTransfer",
];

/** What begins a registration in ENSv2. */
export const begins = ["LabelRegistered", "Migration"];

/** Events of registrars. */
export const registrarEvents = Object.keys(registrationEvents);

/** Events of registries of the first generation. */
export const registryEvents = ["Transfer", "NewOwner", "NewResolver"];

/** Events of resolvers. */
export const emittedByResolvers = Object.keys(resolverEvents);
