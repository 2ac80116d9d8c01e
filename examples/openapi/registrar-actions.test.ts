import { readFileSync } from "node:fs";
import openapiTypescript, { astToString, COMMENT_HEADER } from "openapi-typescript";
import { expect, test } from "vitest";

test("the types are those of the REST endpoints", async () => {
  const document = readFileSync(new URL("../../test/fixtures/openapi.json", import.meta.url), "utf8");
  const types = `${COMMENT_HEADER}${astToString(await openapiTypescript(document))}`;
  const committed = readFileSync(new URL("rest-api.d.ts", import.meta.url), "utf8");
  expect(
    committed === types,
    "run: npx openapi-typescript test/fixtures/openapi.json -o examples/openapi/rest-api.d.ts",
  ).toBe(true);
});
