import type { Hex } from "viem";
import type { Namespace } from "../../datasources/datasources.ts";
import { tokenIssuers } from "../../datasources/token-issuers.ts";

const datasourceOfPlugin: Record<string, string> = {
  subgraph: "ensroot",
  basenames: "basenames",
  lineanames: "lineanames",
};

/** What the plugins and the namespace say of names and their tokens: see NameTokensContext. */
export function namesContext(namespace: Namespace, plugins: readonly string[]) {
  const managedNames = plugins.flatMap(
    (plugin) => namespace[datasourceOfPlugin[plugin] ?? ""]?.managedName ?? [],
  );
  const nameWrappers: { chainId: number; address: Hex }[] = tokenIssuers(namespace).filter(
    ({ isNameWrapper }) => isNameWrapper,
  );
  return { managedNames, rootManagedName: namespace["ensroot"]?.managedName ?? "eth", nameWrappers };
}
