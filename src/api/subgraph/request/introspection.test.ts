import {
  buildClientSchema,
  type GraphQLField,
  getIntrospectionQuery,
  graphqlSync,
  type IntrospectionQuery,
  isObjectType,
  validateSchema,
} from "graphql";
import { expect, test } from "vitest";
import { createEndpoint } from "../../../../test/support/subgraph/endpoint.ts";
import { createSchema } from "../schema/schema.ts";

const { ask } = createEndpoint({ row: async () => [null] });
const { data } = await ask<IntrospectionQuery>(
  getIntrospectionQuery({
    inputValueDeprecation: true,
    schemaDescription: true,
    directiveIsRepeatable: true,
    specifiedByUrl: true,
  }),
);
const schema = buildClientSchema(data!);
const signature = ({ args, type }: GraphQLField<unknown, unknown>) =>
  `(${args.map((arg) => `${arg.name}: ${arg.type}${arg.defaultValue === undefined ? "" : ` = ${arg.defaultValue}`}`).join(", ")}): ${type}`;

test("describes a schema that client tools can build", () => {
  expect(validateSchema(schema)).toEqual([]);
  expect(schema.getQueryType()?.name).toBe("Query");
  expect(schema.getMutationType() ?? null).toBeNull();
  expect(schema.getSubscriptionType() ?? null).toBeNull();
  expect(schema.getDirectives().map(({ name }) => name)).toEqual([
    "skip",
    "include",
    "entity",
    "subgraphId",
    "derivedFrom",
  ]);
});

test("lists the arguments, defaults and types of root fields and nested lists", () => {
  const fields = schema.getQueryType()!.getFields();
  expect(Object.keys(fields)).toHaveLength(61);
  expect(signature(fields["newTTL"]!)).toBe(
    "(id: ID!, block: Block_height, subgraphError: _SubgraphErrorPolicy_! = deny): NewTTL",
  );
  expect(signature(fields["newTTLs"]!)).toBe(
    "(skip: Int = 0, first: Int = 100, orderBy: NewTTL_orderBy, orderDirection: OrderDirection, where: NewTTL_filter, " +
      "block: Block_height, subgraphError: _SubgraphErrorPolicy_! = deny): [NewTTL!]!",
  );
  expect(signature(fields["_meta"]!)).toBe("(block: Block_height): _Meta_");
  const domain = schema.getType("Domain");
  expect(isObjectType(domain) && signature(domain.getFields()["events"]!)).toBe(
    "(skip: Int = 0, first: Int = 100, orderBy: DomainEvent_orderBy, orderDirection: OrderDirection, where: DomainEvent_filter): [DomainEvent!]!",
  );
});

test("answers __type by a variable, alongside data, under an alias", async () => {
  const answer = await ask(
    'query($name: String!) { mine: __type(name: $name) { ...T } none: __type(name: "Nope") { name } _meta { deployment } } fragment T on __Type { kind name }',
    { name: "OrderDirection" },
  );
  expect(answer).toEqual({
    data: { mine: { kind: "ENUM", name: "OrderDirection" }, none: null, _meta: { deployment: "test" } },
  });
});

test("reports an error in introspection with its location", async () => {
  const { errors } = await ask("{ __type { name } }");
  expect(errors?.[0]?.locations).toEqual([{ line: 1, column: 3 }]);
});

test("reads introspection like the reference implementation, with fragments, aliases and directives", async () => {
  const query = `query($deep: Boolean = true, $name: String = "Domain_filter") {
    __schema { ...S types { ... on __Type { kind } ...T @include(if: $deep) } directives { name args { ...I } } }
    one: __type(name: $name) { ...T skipped: name @skip(if: $deep) unknown }
    two: __type(name: "Nothing") { name } }
    fragment S on __Schema { queryType { name } queryType { kind } __typename }
    fragment T on __Type { name fields(includeDeprecated: $deep) { name args { ...I } type { ...R } } inputFields { ...I }
      interfaces { name } possibleTypes { name } enumValues { name isDeprecated } }
    fragment I on __InputValue { name defaultValue type { ...R } }
    fragment R on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }`;
  const expected = graphqlSync({ schema: createSchema(), source: query.replace(" unknown ", " ") });
  expect(expected.errors).toBeUndefined();
  expect(await ask(query)).toEqual(JSON.parse(JSON.stringify(expected)));
});
