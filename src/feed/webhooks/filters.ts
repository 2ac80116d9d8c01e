import type { Config } from "../../config/environment.ts";
import { readName } from "../../ens/given-names.ts";
import { closedQuery } from "../../ens/parameters.ts";
import { entryParameters } from "../../read/events/entry-filters.ts";
import { indexedNamespaces } from "../../read/names/indexed-namespaces.ts";

/** Every fault of the hooks' filters, whose words are those of GET /v1/events. */
export function filterFaults({ webhooks, datasources, plugins }: Config): string[] {
  const known = [...new Set(indexedNamespaces(datasources, plugins).map((home) => home.namespace))];
  const isName = (text: string | undefined) => text === undefined || !("fault" in readName(text));
  const { name, parent, namespace } = entryParameters;
  const words = closedQuery({
    ...entryParameters,
    name: name.refine(isName, { error: "name is invalid" }),
    parent: parent.refine(isName, { error: "parent is invalid" }),
    namespace: namespace.refine((text) => text === undefined || known.includes(text), {
      error: `namespace must be one of ${known.join(", ")}`,
    }),
  });
  return webhooks.flatMap(({ name, filter }) =>
    // Behind NUL is a hint.
    (words.safeParse(filter).error?.issues ?? []).map(
      ({ message }) => `${name}.filter: ${message.replace("\0hint:", "; ")}`,
    ),
  );
}
