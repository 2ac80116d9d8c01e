import { type Hex, namehash } from "viem";
import type { Namespace } from "./datasources.ts";

/**
 * The name whose subnames the registrar, the controllers and the wrapper of a datasource hand out: its node and its text.
 * Throws if the datasource has none.
 */
export function managedNameOf(namespace: Namespace, datasourceId: string): { node: Hex; name: string } {
  const name = namespace[datasourceId]?.managedName;
  if (name === undefined) throw new Error(`Datasource "${datasourceId}" manages no name.`);
  return { node: namehash(name), name };
}
