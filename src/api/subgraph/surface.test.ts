import { expect, test } from "vitest";
import { readFixture } from "../../../test/support/recordings.ts";
import { type EntityField, entityTypes, filterKeys, isSortable, sortKeys } from "./schema/inputs.ts";

type Surface = { [part in "fields" | "filters" | "sorts" | "refusedSorts" | "roots"]: string[] };

const surface: Surface = readFixture("subgraph-surface.json.gz");
const types = [...entityTypes.values()];
const text = (field: EntityField) => {
  const isList = field.kind === "scalar" ? field.list : field.kind === "derived" && field.many;
  const inner = field.kind === "scalar" ? field.scalar : field.target;
  return `${isList ? `[${inner}!]` : inner}${field.nullable ? "" : "!"}`;
};
const isExtra = (field: EntityField) => field.extra;

test("has the original's 27 entities and 3 interfaces with their root fields", () => {
  const roots = types.flatMap(({ name, singular, plural }) => [
    `${singular} ${name}`,
    `${plural} [${name}!]!`,
  ]);
  expect(roots.sort()).toEqual(surface.roots);
  expect(types.filter(({ kind }) => kind === "interface").map(({ name }) => name)).toEqual([
    "DomainEvent",
    "RegistrationEvent",
    "ResolverEvent",
  ]);
});

test("has the original's fields", () => {
  const fields = types.flatMap((type) =>
    [...type.fields.values()]
      .filter((field) => !isExtra(field))
      .map((field) => `${type.name}.${field.name} ${text(field)}`),
  );
  expect(fields.sort()).toEqual(surface.fields);
});

test("has the original's 2,216 filter keys", () => {
  const filters = types.flatMap((type) =>
    [...filterKeys(type)]
      .filter(([, { extra }]) => !extra)
      .map(([key, { input }]) => `${type.name}.${key} ${input}`),
  );
  expect(filters.sort()).toEqual(surface.filters);
  expect(filters).toHaveLength(2216);
});

test("has the original's 338 sort keys and lists the 58 that it rejects", () => {
  const keys = types.flatMap((type) =>
    [...sortKeys(type).values()]
      .filter(({ extra }) => !extra)
      .map((key) => ({ name: `${type.name}.${key.name}`, key })),
  );
  const names = (sortable: boolean) =>
    keys.filter(({ key }) => isSortable(key) === sortable).map(({ name }) => name);
  expect(names(true).sort()).toEqual(surface.sorts);
  expect(names(false).sort()).toEqual(surface.refusedSorts);
  expect([names(true).length, names(false).length]).toEqual([338, 58]);
});

test("offers the id of every relation and a list per event type in addition", () => {
  const extras = (name: string) =>
    [...(entityTypes.get(name)?.fields.values() ?? [])]
      .filter(isExtra)
      .map((field) => `${field.name} ${text(field)}`);
  expect(extras("Registration")).toEqual([
    "domainId String!",
    "registrantId String!",
    "nameRegistereds [NameRegistered!]!",
    "nameReneweds [NameRenewed!]!",
    "nameTransferreds [NameTransferred!]!",
  ]);
  expect(extras("NewOwner")).toEqual(["domainId String!", "parentDomainId String!", "ownerId String!"]);
});
