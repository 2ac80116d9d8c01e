import type { Hex } from "viem";
import type { Deployment, Namespace } from "../../deployments/deployment.ts";
import { deployments } from "../../deployments/deployments.ts";
import { rootDatasource } from "../../deployments/ens.ts";
import { tokenIssuers } from "../../deployments/issuers.ts";

/** What the plugins and the namespace say of names and their tokens: see NameTokensContext. */
export function namesContext(namespace: Namespace, plugins: readonly string[]) {
  const managedNames = plugins.flatMap((plugin) => {
    const deployment: Deployment | undefined = deployments.find((one) => one.plugin === plugin);
    return deployment?.datasources.flatMap((id) => namespace[id]?.managedName ?? []) ?? [];
  });
  const nameWrappers: { chainId: number; address: Hex }[] = tokenIssuers(namespace).filter(
    ({ isNameWrapper }) => isNameWrapper,
  );
  return { managedNames, rootManagedName: namespace[rootDatasource]?.managedName ?? "eth", nameWrappers };
}
