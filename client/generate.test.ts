import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { buildDocument } from "../src/api/kit/docs.ts";
import { createSchema } from "../src/api/subgraph/schema/schema.ts";
import { endpoints } from "../src/service/endpoints.ts";
import { generateSubgraphTypes, generateTypes } from "./generate.ts";

// `vitest run client/generate.test.ts -u` writes the files anew.
const pathOf = (name: string) => fileURLToPath(new URL(`src/${name}.generated.ts`, import.meta.url));

test("the client's types are what the OpenAPI document says", async () =>
  expect(await generateTypes(buildDocument("", endpoints))).toMatchFileSnapshot(pathOf("types")));

test("the types of entities are those of the schema", () =>
  expect(generateSubgraphTypes(createSchema({ hasV2: true }))).toMatchFileSnapshot(pathOf("subgraph")));
