import { readFileSync } from "node:fs";
import { getIntrospectionQuery } from "graphql";
import { expect, test } from "vitest";
import { compileRequest } from "../../src/api/subgraph/compile/compile.ts";
import { createDocumentReader } from "../../src/api/subgraph/request/document.ts";
import { createIntrospection } from "../../src/api/subgraph/request/introspection.ts";
import type { Value } from "../../src/api/subgraph/schema/inputs.ts";
import { defaultSubgraphLimits, type SubgraphLimits } from "../../src/config/limits.ts";

// What known clients send stays far below every limit.

type Case = { name: string; query: string; variables?: { [name: string]: Value } };

const fixture = new URL("../fixtures/client-queries.json", import.meta.url);
const cases: Case[] = JSON.parse(readFileSync(fixture, "utf8"));
const tools: Case[] = [{ name: "a code generator's introspection", query: getIntrospectionQuery() }];
const limits = Object.fromEntries(
  Object.entries(defaultSubgraphLimits).map(([name, limit]) => [name, Math.floor(limit / 10)]),
) as SubgraphLimits;

test.each([...cases, ...tools])("costs less than a tenth of every limit: $name", async (given) => {
  const request = {
    variables: {},
    ...given,
    operationName: undefined,
    extensions: { counts: false, truncated: false },
  };
  expect(Buffer.byteLength(JSON.stringify(given))).toBeLessThan(limits.bodyBytes);
  const reading = { limits, readDocument: createDocumentReader(limits), introspect: createIntrospection() };
  await expect(compileRequest(request, reading)).resolves.toBeDefined();
});
