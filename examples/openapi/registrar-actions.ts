// The newest registrations and renewals, with fetch and the types that openapi-typescript made of /openapi.json:
//
//   npx openapi-typescript http://localhost:42069/openapi.json -o examples/openapi/rest-api.d.ts
//   node examples/openapi/registrar-actions.ts
import type { paths } from "./rest-api.d.ts";

const indexUrl = process.env["INDEX_URL"] ?? "http://localhost:42069";

type Operation = paths["/api/registrar-actions"]["get"];
type Answers = Operation["responses"];
type Query = NonNullable<Operation["parameters"]["query"]>;

async function newestActions(query: Query): Promise<Answers[200]["content"]["application/json"]> {
  const parameters = new URLSearchParams(Object.entries(query).map(([key, value]) => [key, String(value)]));
  const response = await fetch(`${indexUrl}/api/registrar-actions?${parameters}`);
  if (response.status !== 200) throw new Error(`HTTP ${response.status}: ${await response.text()}`);
  return response.json();
}

const { registrarActions, pageContext } = await newestActions({ recordsPerPage: "5" });
console.log(`${pageContext.totalRecords} actions, the newest:`);
for (const { name, action } of registrarActions) {
  const { total } = action.pricing;
  console.log(action.type, name, total === null ? "free or unknown" : `${total.amount} ${total.currency}`);
}
