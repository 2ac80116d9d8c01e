import { basenamesBaseRegistrarAbi } from "../../abis/registrars.ts";
import type { Controller, ControllerFacts, Deployment, Namespace } from "../deployments/deployment.ts";
import { deployedContracts, managedNameOf, namesKey } from "../deployments/namespaces.ts";
import { subnode, tokenIdToHex } from "../ens/ids.ts";
import { applyWrapperRenewal } from "../indexing/name-wrapper.ts";
import {
  applyControllerLabel,
  applyNameRegistered,
  applyNameRenewed,
  applyNameTransferred,
} from "../indexing/registrar.ts";
import type { Scope } from "../indexing/scope.ts";
import type { EventsOf } from "./on.ts";

/** The events of base registrars of every deployment; each registers those of its own ABI. */
export const registrarAbi = basenamesBaseRegistrarAbi;

/** Registers the events of a deployment's base registrars, as names. */
export function registerBaseRegistrars(events: EventsOf, namespace: Namespace, deployment: Deployment): void {
  for (const deployed of deployedContracts(namespace, ["baseRegistrar"], [deployment])) {
    const { datasourceId, name, contract } = deployed;
    const on = events(namesKey(deployment, datasourceId, name), registrarAbi);
    const managed = managedNameOf(namespace, datasourceId);
    // A registration may also carry resolver and time to live; the registry's own events report these.
    for (const event of contract.registrations) {
      on(event, (scope, { id, owner, expires }) =>
        applyNameRegistered(scope, { managed, labelhash: tokenIdToHex(id), owner, expires }),
      );
    }
    on("NameRenewed", (scope, { id, expires }) =>
      applyNameRenewed(scope, { managed, labelhash: tokenIdToHex(id), expires }),
    );
    on("Transfer", (scope, { tokenId, from, to }) =>
      applyNameTransferred(scope, { managed, labelhash: tokenIdToHex(tokenId), from, to }),
    );
  }
}

/** Registers the events of a deployment's controllers, as labels and prices of names. */
export function registerControllers(events: EventsOf, namespace: Namespace, deployment: Deployment): void {
  for (const deployed of deployedContracts(namespace, ["controller"], [deployment])) {
    const { datasourceId, name, contract } = deployed;
    const managed = managedNameOf(namespace, datasourceId);
    const wrapper = deployedContracts(namespace, ["nameWrapper"], [deployment]).find(
      (one) => one.datasourceId === datasourceId,
    )?.address;
    const source = namesKey(deployment, datasourceId, name);
    onController(events, { source, contract }, async (scope, facts) => {
      await applyControllerLabel(scope, managed, facts);
      if (facts.renewedInWrapper !== undefined && wrapper !== undefined)
        await applyWrapperRenewal(scope, {
          node: subnode(managed.node, facts.labelhash),
          wrapper,
          expires: facts.renewedInWrapper,
        });
    });
  }
}

/** Registers one handler for all events of a controller, each read as its description says. */
export function onController(
  events: EventsOf,
  { source, contract: { abi, read } }: { source: string; contract: Controller },
  handler: (scope: Scope, facts: ControllerFacts) => unknown,
): void {
  const on = events(source, abi);
  // `controller` checked each reader against the event's declaration.
  for (const [event, factsOf] of Object.entries(read)) {
    on(event, (scope, args) => handler(scope, factsOf(args as never)));
  }
}
