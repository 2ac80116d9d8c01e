import type { Config } from "../../config/environment.ts";
import { closedQuery, readName } from "../names/contract.ts";
import { eventKinds, historyTypes, pipelineKinds } from "../names/history.ts";
import { indexedNamespaces } from "../names/indexed-namespaces.ts";
import { contractParameter, textParameter, wordsParameter } from "../names/lists.ts";
import { anyCaseAddress } from "../rest/values.ts";

/** Every fault of the hooks' filters, whose words are those of GET /v1/events. */
export function filterFaults({ webhooks, datasources, plugins }: Config): string[] {
  const namespaces = [...new Set(indexedNamespaces(datasources, plugins).map((home) => home.namespace))];
  const words = closedQuery({
    type: wordsParameter("type", historyTypes).optional(),
    exclude_type: wordsParameter("exclude_type", historyTypes).optional(),
    kind: wordsParameter("kind", [...eventKinds, ...pipelineKinds]).optional(),
    name: textParameter("name", 2_000)
      .refine((text) => !("fault" in readName(text)), { error: "name is invalid" })
      .optional(),
    address: anyCaseAddress("address").optional(),
    namespace: textParameter("namespace", 60)
      .refine((text) => namespaces.includes(text), {
        error: `namespace must be one of ${namespaces.join(", ")}`,
      })
      .optional(),
    record_key: textParameter("record_key", 1_000).optional(),
    resolver: contractParameter("resolver").optional(),
    contract_address: anyCaseAddress("contract_address").optional(),
  });
  return webhooks.flatMap(({ name, filter }) =>
    // Behind NUL is a hint.
    (words.safeParse(filter).error?.issues ?? []).map(
      ({ message }) => `${name}.filter: ${message.replace("\0hint:", "; ")}`,
    ),
  );
}
