// The kinds of events that histories show: who emits each, the type of its entry, and the words that name it. All that
// depends on the kind alone is here.

// Events shown in histories: the emitter of each, the type of its entry, and the action if it is not the type's
// default. `Migration`, `ReverseNameChanged` and `RootPermissionChanged` replace certain events of other kinds; no
// contract emits `Release`.
const events = {
  WrappedTransfer: ["wrapper", "transfer"],
  Transfer: ["registry", "authority"],
  NewOwner: ["registry", "authority"],
  NameWrapped: ["wrapper", "authority", "name_wrapped"],
  NameUnwrapped: ["wrapper", "authority", "name_unwrapped"],
  NewResolver: ["registry", "resolver"],
  FusesSet: ["wrapper", "permission"],
  ExpiryExtended: ["wrapper", "expiry"],
  NameRegistered: ["registrar", "registration"],
  NameRenewed: ["registrar", "renewal"],
  NameTransferred: ["registrar", "transfer"],
  AuthorisationChanged: ["resolver", "permission"],
  AddrChanged: ["resolver", "record"],
  MulticoinAddrChanged: ["resolver", "record"],
  NameChanged: ["resolver", "record"],
  ReverseNameChanged: ["resolver", "primary_name"],
  AbiChanged: ["resolver", "record"],
  PubkeyChanged: ["resolver", "record"],
  TextChanged: ["resolver", "record"],
  ContenthashChanged: ["resolver", "record"],
  InterfaceChanged: ["resolver", "record"],
  VersionChanged: ["resolver", "record", "record_version_changed"],
  LabelRegistered: ["registryOfV2", "registration"],
  Migration: ["registryOfV2", "migration"],
  LabelReserved: ["registryOfV2", "reservation"],
  LabelUnregistered: ["registryOfV2", "release"],
  ExpiryUpdated: ["registryOfV2", "renewal"],
  TransferSingle: ["registryOfV2", "transfer"],
  TransferBatch: ["registryOfV2", "transfer"],
  ResolverUpdated: ["registryOfV2", "resolver"],
  SubregistryUpdated: ["registryOfV2", "subregistry"],
  EACRolesChanged: ["registryOfV2", "permission"],
  RootPermissionChanged: ["registryOfV2", "permission"],
  NameForAddrChanged: ["reverseRegistrar", "primary_name"],
  Release: ["nobody", "release"],
} as const;

/** A kind of event. */
export type EventKind = keyof typeof events;
/** What emits events of a kind. */
export type EventEmitter = (typeof events)[EventKind][0];

/** EACRolesChanged of the roles on a whole registry. */
export const rootChange = "RootPermissionChanged" satisfies EventKind;

/** What emits a kind of event. */
export const findEmitter = (event: EventKind): EventEmitter => events[event][0];

/** The type of an event's entry. */
export const entryType = (event: EventKind) => events[event][1];

/** The action of an event's entry, if it is not the default of its type. */
export const ownAction = (event: EventKind) => events[event][2];

/** The kinds of events shown in histories. */
export const eventKinds = Object.keys(events) as [EventKind, ...EventKind[]];

/**
 * The events of one kind of contract. Reverse registrars name accounts on other chains, or on all chains by default
 * (ENSIP-19).
 */
export const listEventKinds = (emitter: EventEmitter): EventKind[] =>
  eventKinds.filter((kind) => findEmitter(kind) === emitter);

// The kinds of events in the words of ENS's own API, by ours.
const ofPipeline: Readonly<Record<string, readonly EventKind[]>> = {
  RegistrationGranted: ["NameRegistered", "LabelRegistered", "Migration"],
  RegistrationRenewed: ["NameRenewed", "ExpiryUpdated"],
  RegistrationReleased: ["Release", "LabelUnregistered"],
  RegistrationReserved: ["LabelReserved"],
  ExpiryChanged: ["ExpiryExtended"],
  TokenControlTransferred: ["NameTransferred", "WrappedTransfer", "TransferSingle", "TransferBatch"],
  AuthorityTransferred: ["NewOwner", "Transfer", "NameWrapped", "NameUnwrapped"],
  AuthorityEpochChanged: ["NewOwner", "Transfer", "NameWrapped", "NameUnwrapped"],
  ResolverChanged: ["NewResolver", "ResolverUpdated"],
  RecordChanged: listEventKinds("resolver").filter((kind) => entryType(kind) === "record"),
  RecordVersionChanged: ["VersionChanged"],
  ReverseChanged: ["ReverseNameChanged", "NameForAddrChanged"],
  PermissionChanged: ["EACRolesChanged", "FusesSet", "AuthorisationChanged"],
  PermissionScopeChanged: ["EACRolesChanged", "FusesSet", "AuthorisationChanged"],
  RolesChanged: ["EACRolesChanged", "FusesSet", "AuthorisationChanged"],
  SubregistryChanged: ["SubregistryUpdated"],
  MigrationApplied: ["Migration"],
};

/** The words of ENS's own API for kinds of events. */
export const pipelineKinds: readonly string[] = Object.keys(ofPipeline);

/** The kinds of events that words name, ours or those of ENS's own API; all without words. */
export const kindsNamed = (words: readonly string[] | undefined): readonly EventKind[] =>
  words === undefined
    ? eventKinds
    : eventKinds.filter((kind) => words.some((word) => word === kind || ofPipeline[word]?.includes(kind)));

/** Events that begin a registration in ENSv2. */
export const begins = ["LabelRegistered", "Migration"];

/**
 * Whether an entry belongs to no name and never will: roles on whole registries, and names that reverse registrars give
 * accounts.
 */
export const hasNoNode = ({ type }: { type: EventKind }) =>
  type === rootChange || findEmitter(type) === "reverseRegistrar";

/** SQL of a list of words. */
export const literal = (words: readonly string[]) => `(${words.map((word) => `'${word}'`).join(", ")})`;
