import { nameWrapperAbi, registryAbi } from "../../abis/names.ts";
import type { Deployment, Namespace } from "../deployments/deployment.ts";
import { deployedContracts, managedNameOf, namesKey } from "../deployments/namespaces.ts";
import { tokenIdToHex } from "../ens/ids.ts";
import {
  applyExpiryExtended,
  applyFusesSet,
  applyNameUnwrapped,
  applyNameWrapped,
  applyWrappedTransfer,
} from "../indexing/name-wrapper.ts";
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

/** Registers the events of a deployment's name wrappers. */
export function registerNameWrappers(events: EventsOf, namespace: Namespace, deployment: Deployment): void {
  for (const { datasourceId, name } of deployedContracts(namespace, ["nameWrapper"], [deployment])) {
    const on = events(namesKey(deployment, datasourceId, name), nameWrapperAbi);
    const managedNode = managedNameOf(namespace, datasourceId).node;
    on("NameWrapped", applyNameWrapped);
    on("NameUnwrapped", (scope, { node, owner }) => applyNameUnwrapped(scope, { node, owner, managedNode }));
    on("FusesSet", applyFusesSet);
    on("ExpiryExtended", applyExpiryExtended);
    on("TransferSingle", (scope, { id, ...parties }) =>
      applyWrappedTransfer(scope, { node: tokenIdToHex(id), ...parties, index: 0 }),
    );
    on("TransferBatch", async (scope, { ids, ...parties }) => {
      for (const [index, id] of ids.entries()) {
        await applyWrappedTransfer(scope, { node: tokenIdToHex(id), ...parties, index });
      }
    });
  }
}
