import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { askSubgraph } from "./subgraph.ts";

/** A subgraph entity: its id, and its fields with relations as ids. */
export type Entity = { id: string } & Record<string, unknown>;

/** All entities of an index, by type name (`Domain`, `NewOwner`, …), sorted by id. */
export type Entities = Record<string, Entity[]>;

/** Additional accepted values: type, id, field, list of values. */
export type Accepted = Record<string, Record<string, Record<string, unknown[]>>>;

/** Reads an entity dump: a JSON object of lists by type, gzipped or plain. */
export function readEntityDump(path: string): Entities {
  const bytes = readFileSync(path);
  return JSON.parse((path.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8"));
}

/**
 * All entities that a subgraph endpoint has, read in pages by ascending id. `like` is a dump that shows which types and
 * fields to ask for; `block` is the block to read at. Throws if a response contains errors.
 */
export async function readEntities(endpoint: string, like: Entities, block?: number): Promise<Entities> {
  const found: Entities = {};
  for (const [type, [first]] of Object.entries(like)) {
    const fields = Object.keys(first ?? { id: "" });
    const selection = fields.map((field) => (isRelation(type, field) ? `${field} { id }` : field)).join(" ");
    const list: Entity[] = [];
    // A short page may be the endpoint's own limit: only an empty one ends the list.
    for (let isOver = false; !isOver; ) {
      const after = JSON.stringify(list.at(-1)?.id ?? "");
      const at = block === undefined ? "" : `block: { number: ${block} }, `;
      const where = `${at}first: 1000, orderBy: id, orderDirection: asc, where: { id_gt: ${after} }`;
      const query = `{ rows: ${listField(type)}(${where}) { ${selection} } }`;
      const { rows } = await askSubgraph<{ rows: Entity[] }>(endpoint, query);
      list.push(...rows.map((row) => withIds(type, row)));
      isOver = rows.length === 0;
    }
    found[type] = list;
  }
  return found;
}

/**
 * Compares two sets of entities field by field; `differences` has a line for each that is not as expected,
 * `acceptedFields` counts those that are equal only because their value is accepted. Relations to entities that do not
 * exist follow the subgraph.
 */
export function compareEntities(expected: Entities, got: Entities, accepted: Accepted = {}) {
  const ids = new Map(
    Object.entries(expected).map(([type, list]) => [type, new Set(list.map(({ id }) => id))]),
  );
  const counts = { total: 0, equal: 0, acceptedFields: 0 };
  const differences: string[] = [];
  for (const [type, list] of Object.entries(expected)) {
    const present = new Map((got[type] ?? []).map((entity) => [entity.id, entity]));
    for (const entity of list) {
      const other = present.get(entity.id);
      present.delete(entity.id);
      const wrong = Object.entries(other === undefined ? {} : entity).flatMap(([field, stored]) => {
        const [want, found] = [shown(type, field, stored, ids), other?.[field]].map((value) =>
          JSON.stringify(value),
        );
        if (want === found) return [];
        const further = accepted[type]?.[entity.id]?.[field] ?? [];
        if (!further.some((value) => JSON.stringify(value) === found))
          return [`${field} ${found} instead of ${want}`];
        counts.acceptedFields += 1;
        return [];
      });
      counts.total += 1;
      if (other === undefined) differences.push(`${type} ${entity.id} is missing`);
      else if (wrong.length > 0) differences.push(`${type} ${entity.id}: ${wrong.join(", ")}`);
      else counts.equal += 1;
    }
    for (const id of present.keys()) differences.push(`${type} ${id} is too many`);
  }
  return { ...counts, differences };
}

/** What a comparison found. */
export type Comparison = ReturnType<typeof compareEntities>;

/** How a stored relation is returned: if its target does not exist, null if nullable, else its id. */
function shown(type: string, field: string, stored: unknown, ids: ReadonlyMap<string, Set<string>>): unknown {
  if (stored === null || !isRelation(type, field)) return stored;
  const exists = ids.get(relationTargets[field] as string)?.has(stored as string) ?? false;
  return exists || !mayBeNull.has(`${type}.${field}`) ? stored : null;
}

const relationTargets: Readonly<Record<string, string>> = {
  domain: "Domain",
  parent: "Domain",
  parentDomain: "Domain",
  resolver: "Resolver",
  registration: "Registration",
  addr: "Account",
  owner: "Account",
  newOwner: "Account",
  registrant: "Account",
  resolvedAddress: "Account",
  wrappedOwner: "Account",
};
const bytesFields = new Set(["MulticoinAddrChanged.addr", "AuthorisationChanged.owner"]);
const mayBeNull = new Set([
  "Domain.parent",
  "Domain.resolver",
  "Domain.resolvedAddress",
  "Domain.registrant",
  "Domain.wrappedOwner",
  "Resolver.domain",
  "Resolver.addr",
]);

const isRelation = (type: string, field: string) =>
  field in relationTargets && !bytesFields.has(`${type}.${field}`);
const listField = (type: string) => `${type.charAt(0).toLowerCase()}${type.slice(1)}s`;

/** A row with the ids of its relations. */
const withIds = (type: string, row: Entity) =>
  Object.fromEntries(
    Object.entries(row).map(([field, value]) => [
      field,
      isRelation(type, field) ? ((value as Entity | null)?.id ?? null) : value,
    ]),
  ) as Entity;
