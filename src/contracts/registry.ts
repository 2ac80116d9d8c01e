import { registryAbi } from "../../abis/registry.ts";
import type { Deployment, Namespace } from "../deployments/deployment.ts";
import { deployedContracts, namesKey } from "../deployments/namespaces.ts";
import { applyNewOwner, applyNewResolver, applyNewTtl, applyRegistryTransfer } from "../indexing/registry.ts";
import type { EventsOf } from "./on.ts";

/** Registers the events of a deployment's registries. */
export function registerRegistries(events: EventsOf, namespace: Namespace, deployment: Deployment): void {
  for (const { datasourceId, name, contract } of deployedContracts(namespace, ["registry"], [deployment])) {
    const on = events(namesKey(deployment, datasourceId, name), registryAbi);
    const isOldRegistry = contract.generation === "old";
    on("NewOwner", (scope, { node: parentNode, label: labelhash, owner }) =>
      applyNewOwner(scope, { parentNode, labelhash, owner, isOldRegistry }),
    );
    on("Transfer", (scope, { node, owner }) => applyRegistryTransfer(scope, { node, owner, isOldRegistry }));
    on("NewResolver", (scope, { node, resolver }) =>
      applyNewResolver(scope, { node, resolver, isOldRegistry }),
    );
    on("NewTTL", (scope, { node, ttl }) => applyNewTtl(scope, { node, ttl, isOldRegistry }));
  }
}
