import openapiTypescript, { astToString, COMMENT_HEADER } from "openapi-typescript";
import { expect, test } from "vitest";
import { buildDocument } from "../../src/api/kit/docs.ts";
import { endpoints } from "../../src/service/endpoints.ts";

test("the types are those of the operation that the example asks", async () => {
  const document = buildDocument("1.2.3", endpoints);
  const path = "/api/registrar-actions";
  const text = JSON.stringify({ ...document, paths: { [path]: document.paths[path] } });
  const types = `${COMMENT_HEADER}${astToString(await openapiTypescript(text))}`;
  await expect(types).toMatchFileSnapshot("registrar-actions.generated.d.ts");
});
