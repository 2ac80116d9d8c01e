// Types of the query in names.graphql, made of the schema that the index serves. It uses the two smallest packages of
// GraphQL Code Generator; its command line (@graphql-codegen/cli) takes the same plugin, and several hundred packages.
//
//   node examples/graphql/generate.ts > examples/graphql/names.generated.ts
import { readFileSync } from "node:fs";
import { codegen } from "@graphql-codegen/core";
import * as operations from "@graphql-codegen/typescript-operations";
import { buildClientSchema, getIntrospectionQuery, parse, printSchema } from "graphql";

const indexUrl = process.env["INDEX_URL"] ?? "http://localhost:42069";

const response = await fetch(`${indexUrl}/subgraph`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ query: getIntrospectionQuery() }),
});
const { data } = await response.json();
const text = await codegen({
  schema: parse(printSchema(buildClientSchema(data))),
  documents: [{ document: parse(readFileSync(new URL("names.graphql", import.meta.url), "utf8")) }],
  filename: "names.generated.ts",
  config: { scalars: { BigInt: "string", ID: "string", Bytes: "string" }, strictScalars: false },
  plugins: [{ "typescript-operations": {} }],
  pluginMap: { "typescript-operations": operations },
});
console.log(text);
