import { nameWrapperAbi, registryAbi } from "../../abis/names.ts";
import { baseRegistrarAbi } from "../../abis/registrars.ts";
import type {
  ContractOf,
  Controller,
  ControllerFacts,
  Deployment,
  ManagedName,
  Namespace,
} from "../deployments/deployment.ts";
import { deployedContracts, findManagedName, namesKey } from "../deployments/namespaces.ts";
import { subnode, tokenIdToHex } from "../ens/ids.ts";
import {
  applyExpiryExtended,
  applyFusesSet,
  applyNameUnwrapped,
  applyNameWrapped,
  applyWrappedTransfer,
  applyWrapperRenewal,
} from "../indexing/name-wrapper.ts";
import {
  applyControllerLabel,
  applyNameRegistered,
  applyNameRenewed,
  applyNameTransferred,
} from "../indexing/registrar.ts";
import { applyNewOwner, applyNewResolver, applyNewTtl, applyRegistryTransfer } from "../indexing/registry.ts";
import type { Scope } from "../indexing/scope.ts";
import type { EventsOf, On } from "./on.ts";
import { registerResolvers } from "./resolver.ts";

/** The events of a new registration. The registry's own events report the resolver and TTL that one of them carries. */
export const listRegistrations = ({ registersWithRecords }: ContractOf<"baseRegistrar">) =>
  registersWithRecords
    ? (["NameRegistered", "NameRegisteredWithRecord"] as const)
    : (["NameRegistered"] as const);

/** Registers the handlers of a deployment's contracts, by role. */
export function registerNames(events: EventsOf, namespace: Namespace, deployment: Deployment): void {
  const roles = ["registry", "baseRegistrar", "controller", "nameWrapper"] as const;
  for (const role of roles)
    for (const { contract, datasourceId, name } of deployedContracts(namespace, [role], [deployment])) {
      const source = namesKey(deployment, datasourceId, name);
      if (contract.role === "registry") {
        registerRegistry(events(source, registryAbi), contract.generation === "old");
        continue;
      }
      const managed = findManagedName(namespace, datasourceId);
      if (contract.role === "nameWrapper") registerNameWrapper(events(source, nameWrapperAbi), managed);
      else if (contract.role === "baseRegistrar")
        registerBaseRegistrar(events(source, baseRegistrarAbi), contract, managed);
      else {
        const wrappers = deployedContracts(namespace, ["nameWrapper"], [deployment]);
        const wrapper = wrappers.find((one) => one.datasourceId === datasourceId)?.address;
        onController(events, { source, contract }, async (scope, facts) => {
          await applyControllerLabel(scope, managed, facts);
          const { labelhash, renewedInWrapper: expires } = facts;
          if (expires !== undefined && wrapper !== undefined)
            await applyWrapperRenewal(scope, { node: subnode(managed.node, labelhash), wrapper, expires });
        });
      }
    }
  registerResolvers(events, namespace, deployment);
}

function registerRegistry(on: On<typeof registryAbi>, isOldRegistry: boolean): void {
  on("NewOwner", (scope, { node: parentNode, label: labelhash, owner }) =>
    applyNewOwner(scope, { parentNode, labelhash, owner, isOldRegistry }),
  );
  on("Transfer", (scope, args) => applyRegistryTransfer(scope, { ...args, isOldRegistry }));
  on("NewResolver", (scope, args) => applyNewResolver(scope, { ...args, isOldRegistry }));
  on("NewTTL", (scope, args) => applyNewTtl(scope, { ...args, isOldRegistry }));
}

function registerBaseRegistrar(
  on: On<typeof baseRegistrarAbi>,
  contract: ContractOf<"baseRegistrar">,
  managed: ManagedName,
): void {
  for (const event of listRegistrations(contract))
    on(event, (scope, { id, owner, expires }) =>
      applyNameRegistered(scope, { managed, labelhash: tokenIdToHex(id), owner, expires }),
    );
  on("NameRenewed", (scope, { id, expires }) =>
    applyNameRenewed(scope, { managed, labelhash: tokenIdToHex(id), expires }),
  );
  on("Transfer", (scope, { tokenId, from, to }) =>
    applyNameTransferred(scope, { managed, labelhash: tokenIdToHex(tokenId), from, to }),
  );
}

/** Registers one handler for all events of a controller, each read by its own reader. */
export function onController(
  events: EventsOf,
  { source, contract: { abi, read } }: { source: string; contract: Controller },
  handler: (scope: Scope, facts: ControllerFacts) => unknown,
): void {
  const on = events(source, abi);
  // `controller` checks each reader against its event's declaration.
  for (const [event, factsOf] of Object.entries(read)) {
    on(event, (scope, args) => handler(scope, factsOf(args as never)));
  }
}

function registerNameWrapper(on: On<typeof nameWrapperAbi>, { node: managedNode }: ManagedName): void {
  on("NameWrapped", applyNameWrapped);
  on("NameUnwrapped", (scope, args) => applyNameUnwrapped(scope, { ...args, managedNode }));
  on("FusesSet", applyFusesSet);
  on("ExpiryExtended", applyExpiryExtended);
  on("TransferSingle", (scope, { id, ...parties }) =>
    applyWrappedTransfer(scope, { node: tokenIdToHex(id), ...parties, index: 0 }),
  );
  on("TransferBatch", async (scope, { ids, ...parties }) => {
    for (const [index, id] of ids.entries())
      await applyWrappedTransfer(scope, { node: tokenIdToHex(id), ...parties, index });
  });
}
