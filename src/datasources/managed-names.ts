import { type Hex, namehash } from "viem";
import type { Namespace } from "./datasources.ts";

/** A name whose subnames a registrar hands out: its node and its text. */
type Managed = { node: Hex; name: string };

/** The managed names of all deployments that have one, by datasource id. */
export function managedNames(namespace: Namespace): Partial<Record<string, Managed>> {
  return Object.fromEntries(
    Object.entries(namespace).flatMap(([id, { managedName }]) =>
      managedName === undefined ? [] : [[id, { node: namehash(managedName), name: managedName }]],
    ),
  );
}

/** The name whose subnames the contracts of a datasource hand out. Throws if the datasource has none. */
export function managedNameOf(namespace: Namespace, datasourceId: string): Managed {
  const managed = managedNames(namespace)[datasourceId];
  if (managed === undefined) throw new Error(`Datasource "${datasourceId}" manages no name.`);
  return managed;
}
