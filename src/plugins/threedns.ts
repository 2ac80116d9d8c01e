import { threednsTokenAbi } from "../../abis/names.ts";
import type { Namespace } from "../deployments/deployment.ts";
import { deployedContracts, namesKey } from "../deployments/namespaces.ts";
import { threedns } from "../deployments/threedns.ts";
import type { EventsOf } from "../handlers/on.ts";
import { registerResolvers } from "../handlers/resolver.ts";
import { applyRegistryTransfer } from "../indexing/registry.ts";
import {
  applyDomainCreated,
  applyRegistrationCreated,
  applyRegistrationExtended,
} from "../indexing/threedns.ts";

/** Registers the handlers of the plugin `threedns`: the 3DNS token and its one resolver, on each chain. */
export function registerThreedns(events: EventsOf, namespace: Namespace): void {
  const resolvers = deployedContracts(namespace, ["resolver"], [threedns]);
  for (const { datasourceId, name } of deployedContracts(namespace, ["threednsToken"], [threedns])) {
    const on = events(namesKey(threedns, datasourceId, name), threednsTokenAbi);
    const resolver = resolvers.find((one) => one.datasourceId === datasourceId)?.address;
    on("RegistrationCreated", applyRegistrationCreated);
    on("RegistrationExtended", applyRegistrationExtended);
    on("NewOwner", (scope, { node: parentNode, label: labelhash, owner }) =>
      applyDomainCreated(scope, { parentNode, labelhash, owner, resolver }),
    );
    on("Transfer", (scope, { node, owner }) =>
      applyRegistryTransfer(scope, { node, owner, isOldRegistry: false }),
    );
  }
  registerResolvers(events, namespace, threedns);
}
