// The newest names below a name, by the query in names.graphql and the types that generate.ts made of it.
//
//   node examples/graphql/newest-names.ts .base.eth
import { readFileSync } from "node:fs";
import type { NewestNamesQuery, NewestNamesQueryVariables } from "./names.generated.ts";

const indexUrl = process.env["INDEX_URL"] ?? "http://localhost:42069";
const query = readFileSync(new URL("names.graphql", import.meta.url), "utf8");

async function newestNames(variables: NewestNamesQueryVariables): Promise<NewestNamesQuery> {
  const response = await fetch(`${indexUrl}/subgraph`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = (await response.json()) as { data?: NewestNamesQuery; errors?: object[] };
  if (data === undefined) throw new Error(JSON.stringify(errors));
  return data;
}

const { domains } = await newestNames({ first: 5, suffix: process.argv[2] ?? ".eth" });
for (const { name, owner, createdAt } of domains)
  console.log(new Date(Number(createdAt) * 1000).toISOString(), name, "owned by", owner.id);
