import { readName } from "../../ens/given-names.ts";
import { textParameter } from "../../ens/parameters.ts";
import { refuse } from "../refusal.ts";
import type { IndexedNamespace } from "./indexed-namespaces.ts";
import { namespacesText } from "./indexed-namespaces.ts";
import type { NamesSource } from "./source.ts";
import { secondGeneration } from "./stored-name.ts";

// Which of the indexed names are asked for: by namespace, by generation, by name.

/** The parameter that selects a namespace. */
export const namespaceParameter = textParameter("namespace", 60).optional().describe(namespacesText);

type IndexedSource = Pick<NamesSource, "namespaces">;

/** The indexed deployments of a namespace; none if it is undefined. Refuses a namespace that is not indexed. */
export function namespacesIn({ namespaces }: IndexedSource, namespace: string | undefined) {
  if (namespace === undefined) return [];
  const ofIt = namespaces.filter((home) => home.namespace === namespace);
  if (ofIt.length > 0) return ofIt;
  const known = namesOfNamespaces({ namespaces });
  return refuse("not_found", `The namespace ${JSON.stringify(namespace)} is not indexed; indexed: ${known}`);
}

/** The indexed namespaces, in words. */
export const namesOfNamespaces = ({ namespaces }: IndexedSource) =>
  [...new Set(namespaces.map((home) => home.namespace))].join(", ");

/** SQL condition that names belong to a namespace. Refuses one that is not indexed. */
export function inNamespace(source: IndexedSource, namespace: string | undefined): string[] {
  const ofIt = namespacesIn(source, namespace).map((home) => source.namespaces.indexOf(home) + 1);
  return ofIt.length === 0 ? [] : [`names.home IN (${ofIt.join(", ")})`];
}

/** Registries of the root chain by their generation. */
export const authorities = ["ens_v0", "ens_v1", "ens_v2"] as const;

/**
 * SQL conditions that rows have one of the authorities. Names of other chains have none, nor have those that nobody
 * ever held.
 */
export function ofAuthority(
  authority: readonly (typeof authorities)[number][] | undefined,
  namespaces: readonly IndexedNamespace[],
): string[] {
  if (authority === undefined) return [];
  const v2 = secondGeneration(namespaces);
  const isHeld = "(names.is_owned OR names.status <> 'unregistered')";
  const ofFirst = v2 ? `${isHeld} AND NOT names.is_v2` : isHeld;
  const conditions = {
    ens_v0: [`${ofFirst} AND NOT names.is_migrated`],
    ens_v1: [`${ofFirst} AND names.is_migrated`],
    ens_v2: v2 ? ["names.is_v2"] : [],
  };
  const asked = authority.flatMap((one) => conditions[one]);
  if (!namespaces[0]?.isRoot || asked.length === 0) return ["false"];
  return [`(${asked.join(" OR ")})`, ...(namespaces.length > 1 ? ["names.home = 1"] : [])];
}

/** Reads a name from a path or parameter. Refuses one that cannot be normalized. */
export function nameIn(given: string) {
  const name = readName(given);
  return "fault" in name ? refuse("invalid_input", `The name is invalid: ${name.fault}`) : name;
}
