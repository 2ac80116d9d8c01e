import type { Hex } from "viem";
import { zeroAddress } from "../ens/ids.ts";
import { account, domainEvent, registrationEvent, resolver, resolverEvent } from "../schema/subgraph.ts";
import type { Scope } from "./scope.ts";

/**
 * True if `address` owns the row, so that its account exists; false for the zero address, which may have no account.
 */
export function isOwnedBy(row: { ownerId: Hex } | undefined, address: Hex): boolean {
  return row?.ownerId === address && address !== zeroAddress;
}

/** Creates the account on its first mention. */
export function ensureAccount({ db, blockNumber }: Scope, address: Hex) {
  return db.insert(account).values({ id: address, changeBlock: blockNumber }).onConflictDoNothing();
}

/** Creates the resolver entity of a contract and a node on its first mention. */
export async function ensureResolver({ db, naming, chainId, blockNumber }: Scope, node: Hex, address: Hex) {
  const id = naming.resolverId(chainId, address, node);
  const values = { id, domainId: node, address, changeBlock: blockNumber };
  return { id, isNew: (await db.insert(resolver).values(values).onConflictDoNothing()) !== null };
}

type OwnColumns<Row> = Omit<Row, "id" | "blockNumber" | "timestamp" | "logIndex" | "transactionID">;

/** Stores an event of a domain. `index` is the position in a wrapper transfer, part of the id. */
export function addDomainEvent(
  scope: Scope,
  values: OwnColumns<typeof domainEvent.$inferInsert>,
  index?: number,
) {
  const id = index === undefined ? buildEventId(scope) : `${buildEventId(scope)}-${index}`;
  return scope.db.insert(domainEvent).values({ id, ...buildOrigin(scope), ...values });
}

/** Stores an event of a registration. */
export function addRegistrationEvent(
  scope: Scope,
  values: OwnColumns<typeof registrationEvent.$inferInsert>,
) {
  return scope.db
    .insert(registrationEvent)
    .values({ id: buildEventId(scope), ...buildOrigin(scope), ...values });
}

/** Stores an event of a resolver. */
export function addResolverEvent(scope: Scope, values: OwnColumns<typeof resolverEvent.$inferInsert>) {
  return scope.db.insert(resolverEvent).values({ id: buildEventId(scope), ...buildOrigin(scope), ...values });
}

function buildEventId({ naming, chainId, blockNumber, logIndex }: Scope): string {
  return naming.eventId(chainId, blockNumber, logIndex);
}

function buildOrigin({ blockNumber, timestamp, logIndex, transactionHash }: Scope) {
  return { blockNumber, timestamp: Number(timestamp), logIndex, transactionID: transactionHash };
}
