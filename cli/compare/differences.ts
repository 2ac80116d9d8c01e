import {
  type ArgumentNode,
  type FieldNode,
  Kind,
  type OperationDefinitionNode,
  parse,
  parseValue,
  print,
  visit,
} from "graphql";
import type { Answer } from "./endpoint.ts";

/** A place at which two responses differ; `known`: the documented reason. */
export type Difference = { path: string; ours: unknown; theirs: unknown; known?: string };

// The field that `pinQuery` adds to the rows of ordered lists.
const orderKey = "comparedOrder";
const scalars =
  /^(id|name|labelName|labelhash|createdAt|expiryDate|registrationDate|blockNumber|subdomainCount|cost|fuses)$/;

/** Whether a text is a query that can be parsed. */
export function isGraphQL(query: string): boolean {
  try {
    return parse(query).definitions.length > 0;
  } catch {
    return false;
  }
}

/** A query at a block, in which the rows of ordered lists carry what they are ordered by. */
export function pinQuery(
  query: string,
  block: number | undefined,
  variables: Record<string, unknown>,
): string {
  const ordered = visit(parse(query), {
    Field: {
      leave(field) {
        const order = findArgument(field, "orderBy");
        const by = order?.kind === Kind.VARIABLE ? variables[order.name.value] : Object(order).value;
        return scalars.test(String(by)) ? addOrder(field, String(by)) : undefined;
      },
    },
    OperationDefinition: {
      leave: (operation) => (block === undefined ? undefined : addBlock(operation, block)),
    },
  });
  return print(ordered);
}

const findArgument = (field: FieldNode, name: string) =>
  field.arguments?.find((one) => one.name.value === name)?.value;

function addBlock(operation: OperationDefinitionNode, block: number): OperationDefinitionNode {
  const value = parseValue(`{ number: ${block} }`);
  const pin: ArgumentNode = { kind: Kind.ARGUMENT, name: { kind: Kind.NAME, value: "block" }, value };
  const selections = operation.selectionSet.selections.map((field) =>
    field.kind !== Kind.FIELD || findArgument(field, "block") !== undefined
      ? field
      : { ...field, arguments: [...(field.arguments ?? []), pin] },
  );
  return { ...operation, selectionSet: { ...operation.selectionSet, selections } };
}

function addOrder(field: FieldNode, by: string): FieldNode {
  const name = (value: string) => ({ kind: Kind.NAME, value }) as const;
  const order: FieldNode = { kind: Kind.FIELD, alias: name(orderKey), name: name(by) };
  const selections = [...(field.selectionSet?.selections ?? []), order];
  return { ...field, selectionSet: { kind: Kind.SELECTION_SET, selections } };
}

const unknownLabel = /\[[0-9a-f]{64}\]/;

/** The differences that docs/compatibility.md explains. */
const rules: { known: string; is(difference: Difference): boolean }[] = [
  { known: "this index is stale", is: ({ path }) => path.endsWith("hasIndexingErrors") },
  {
    known: "this index knows a label that the other does not",
    is: ({ path, ours, theirs }) =>
      /(^|\.)(name|label|labelName)$/.test(path) &&
      (theirs === null || unknownLabel.test(String(theirs))) &&
      typeof ours === "string" &&
      !unknownLabel.test(ours),
  },
  {
    known: "the other cannot read a resolver that was set to zero",
    is: ({ path, theirs }) => path === "errors" && /non-null.*resolver/i.test(String(theirs)),
  },
  {
    known: "the block is older than what one of them keeps",
    is: ({ path, ours, theirs }) =>
      path === "errors" && /only has data starting at block/.test(`${ours} ${theirs}`),
  },
];

/** Where two responses to one query differ. */
export function listDifferences(ours: Answer, theirs: Answer): Difference[] {
  const [own, other] = [ours, theirs].map(({ errors }) => errors?.join("; "));
  const found =
    own === undefined && other === undefined
      ? compareValues(ours.data, theirs.data, "")
      : [{ path: "errors", ours: own, theirs: other }];
  return found.map((one: Difference) => {
    const known = one.known ?? rules.find(({ is }) => is(one))?.known;
    return known === undefined ? one : { ...one, known };
  });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function compareValues(ours: unknown, theirs: unknown, path: string): Difference[] {
  if (Array.isArray(ours) && Array.isArray(theirs)) return compareLists(ours, theirs, path);
  if (!isObject(ours) || !isObject(theirs)) return ours === theirs ? [] : [{ path, ours, theirs }];
  const keys = [...new Set([...Object.keys(ours), ...Object.keys(theirs)])].filter((key) => key !== orderKey);
  return keys.flatMap((key) => compareValues(ours[key], theirs[key], path === "" ? key : `${path}.${key}`));
}

const isRow = (value: unknown): value is Record<string, unknown> => isObject(value) && orderKey in value;
const nameRow = (row: Record<string, unknown>) => String(row["id"] ?? JSON.stringify(row));

// The order of rows that are equal by what a list is ordered by is open, and so is which of them end a page.
function compareLists(ours: unknown[], theirs: unknown[], path: string): Difference[] {
  const [rows, others] = [ours.filter(isRow), theirs.filter(isRow)];
  const keys = rows.map((row) => row[orderKey]);
  const isAlike = (key: unknown, index: number) => key === others[index]?.[orderKey];
  const isRanked =
    [rows, theirs, others].every(({ length }) => length === ours.length) && keys.every(isAlike);
  if (!isRanked) return compareInOrder(ours, theirs, path);
  const arrange = (list: typeof rows) => {
    const byKey = Map.groupBy(list, (row) => row[orderKey]);
    return [...byKey.values()].flatMap((equal) =>
      equal.toSorted((a, b) => (nameRow(a) < nameRow(b) ? -1 : 1)),
    );
  };
  const sorted = arrange(others);
  const pairs = arrange(rows).map((row, index) => [row, sorted[index]] as const);
  const isOtherRow = ([row, other]: (typeof pairs)[number]) => row["id"] !== other?.["id"];
  const kept = pairs.filter((pair) => pair[0][orderKey] !== keys.at(-1) || !isOtherRow(pair));
  const known = "order of equal rows, and which of them end a page";
  const isMoved = rows.some((row, index) => isOtherRow([row, others[index]]));
  return [
    ...(isMoved ? [{ path, ours: rows.map(nameRow), theirs: others.map(nameRow), known }] : []),
    ...compareInOrder(
      kept.map(([row]) => row),
      kept.map(([, other]) => other),
      path,
    ),
  ];
}

const compareInOrder = (ours: unknown[], theirs: unknown[], path: string): Difference[] =>
  Array.from({ length: Math.max(ours.length, theirs.length) }).flatMap((_, index) =>
    compareValues(ours[index], theirs[index], `${path}.${index}`),
  );
