// The newest registrations and renewals, with fetch and types that openapi-typescript makes of /openapi.json. The file
// beside this one has those of one operation; this makes all of them:
//
//   npx openapi-typescript http://localhost:42069/openapi.json -o rest-api.d.ts
import type { paths } from "./registrar-actions.generated.d.ts";

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
