import { readFileSync } from "node:fs";
import {
  type DefinitionNode,
  type FieldDefinitionNode,
  type InterfaceTypeDefinitionNode,
  Kind,
  type ObjectTypeDefinitionNode,
  parse,
  print,
} from "graphql";

/** Types of scalar fields. */
export type Scalar = "ID" | "String" | "Bytes" | "BigInt" | "Int" | "Boolean";

// `extra`: not in the original subgraph.
type FieldBase = { name: string; nullable: boolean; extra: boolean; description?: string | undefined };

/** A field with a column of its own. */
export type ScalarField = FieldBase & {
  kind: "scalar";
  scalar: Scalar;
  list: boolean;
  column: string;
  /** An id, which needs no escaping in JSON. */
  isId: boolean;
  /** A column of the ENSv2 walk (src/api/database/v2-walk.ts), if ENSv2 is indexed. It has no filter and no order. */
  isWalked: boolean;
};

/** A stored relation: the column holds the target's id, which may point nowhere. */
export type RelationField = FieldBase & { kind: "relation"; target: string; column: string };

/** A reverse relation: rows of `target` whose column `by` holds this row's id. */
export type DerivedField = FieldBase & { kind: "derived"; target: string; by: string; many: boolean };

/** A field of an entity or interface. */
export type Field = ScalarField | RelationField | DerivedField;

/** An entity or interface, and the table of its rows. */
export type EntityType = ReturnType<typeof readType>;

type EntityNode = ObjectTypeDefinitionNode | InterfaceTypeDefinitionNode;

const { definitions } = parse(readFileSync(new URL("schema.graphql", import.meta.url), "utf8"));
const isEntity = (node: DefinitionNode): node is EntityNode =>
  node.kind === Kind.INTERFACE_TYPE_DEFINITION ||
  (node.kind === Kind.OBJECT_TYPE_DEFINITION && hasDirective(node, "entity"));
const nodes = definitions.filter(isEntity);

/** GraphQL definitions of all other types and of directives. */
export const commonDefinitions = definitions.filter((node) => !isEntity(node)).map((node) => print(node));

/** Every entity and interface by name. */
export const entityTypes: ReadonlyMap<string, EntityType> = readTypes();

/** The entity or interface with this name. Throws if there is none, which is a bug. */
export function entityType(name: string): EntityType {
  const type = entityTypes.get(name);
  if (type === undefined) throw new Error(`There is no entity type "${name}".`);
  return type;
}

// The column name that Ponder gives a field: `transactionID` -> `transaction_id`.
function snakeCase(name: string): string {
  return (name.match(/[\da-z]+|[A-Z]+(?![a-z])|[A-Z][\da-z]+/g) ?? []).join("_").toLowerCase();
}

function hasDirective({ directives }: EntityNode | FieldDefinitionNode, name: string): boolean {
  return directives?.some((directive) => directive.name.value === name) === true;
}

function readTypes(): Map<string, EntityType> {
  const types = new Map(nodes.map((node) => [node.name.value, readType(node)]));
  for (const type of types.values()) addEventLists(type, types);
  return types;
}

function readType(node: EntityNode) {
  const name = node.name.value;
  const of = node.interfaces?.[0]?.name.value;
  const implementers = nodes.filter(({ interfaces }) => interfaces?.[0]?.name.value === name);
  const singular = `${name.charAt(0).toLowerCase()}${name.slice(1)}`;
  const above = nodes.find((other) => other.name.value === of);
  const stored = [...(above?.fields ?? []), ...(node.fields ?? [])].map(readField);
  return {
    name,
    kind: implementers.length > 0 ? ("interface" as const) : ("entity" as const),
    description: node.description?.value,
    /** All types of an interface share a table, whose column `type` has the type's name. */
    table: snakeCase(of ?? name),
    interface: of,
    implementers: implementers.map((one) => one.name.value),
    /** Column with the block of the row's last write. */
    changeColumn: of !== undefined || implementers.length > 0 ? "block_number" : "change_block",
    singular,
    plural: `${singular}s`,
    fields: new Map([...stored, ...stored.flatMap(idField)].map((field) => [field.name, field])),
  };
}

function readField(node: FieldDefinitionNode): Field {
  const name = node.name.value;
  const type = print(node.type);
  const target = type.replace(/[[\]!]/g, "");
  const list = type.startsWith("[");
  const isWalked = hasDirective(node, "walked");
  const base = {
    name,
    nullable: !type.endsWith("!"),
    extra: isWalked || hasDirective(node, "extra"),
    description: node.description?.value,
  };
  const by = /@derivedFrom\(field: "(\w+)"\)/.exec(print(node))?.[1];
  if (by !== undefined) return { ...base, kind: "derived", target, by: `${snakeCase(by)}_id`, many: list };
  if (nodes.some((other) => other.name.value === target))
    return { ...base, kind: "relation", target, column: `${snakeCase(name)}_id` };
  const scalar = target as Scalar;
  return { ...base, kind: "scalar", scalar, list, column: snakeCase(name), isId: scalar === "ID", isWalked };
}

// Extra: the id of each stored relation as a text field.
function idField(relation: Field): ScalarField[] {
  if (relation.kind !== "relation") return [];
  const { column, nullable } = relation;
  const name = `${relation.name}Id`;
  const isText = { kind: "scalar", scalar: "String", list: false, isId: true, isWalked: false } as const;
  return [{ ...isText, name, column, nullable, extra: true }];
}

// Extra: one list per event type (transfers, newOwners, ..) beside `events`.
function addEventLists(type: EntityType, types: Map<string, EntityType>): void {
  const events = type.fields.get("events");
  if (events?.kind !== "derived") return;
  for (const name of types.get(events.target)?.implementers ?? []) {
    const { plural } = types.get(name) as EntityType;
    if (type.fields.has(plural)) continue;
    type.fields.set(plural, { ...events, name: plural, target: name, extra: true, description: undefined });
  }
}
