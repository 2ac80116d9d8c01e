import { referralRenewalsAbi } from "../../abis/registrars.ts";
import type { EventsOf } from "../contracts/on.ts";
import { onController, registrarAbi } from "../contracts/registrar.ts";
import type { Namespace } from "../deployments/deployment.ts";
import { deployedContracts, managedNameOf } from "../deployments/namespaces.ts";
import { tokenIdToHex } from "../ens/nodes.ts";
import {
  applyControllerFacts,
  applyReferral,
  applyRegistration,
  applyRenewal,
} from "../indexing/registrar.ts";

/** Registers the indexing functions of the plugin `registrars`: registrations and renewals of every deployment. */
export function registerRegistrars(events: EventsOf, namespace: Namespace): void {
  const roles = ["baseRegistrar", "controller", "referrals"] as const;
  for (const { datasourceId, name, contract } of deployedContracts(namespace, roles)) {
    const source = `registrars/${datasourceId}/${name}`;
    const managed = managedNameOf(namespace, datasourceId);
    if (contract.role === "controller") {
      onController(events, { source, contract }, (scope, facts) =>
        applyControllerFacts(scope, managed, facts),
      );
    } else if (contract.role === "referrals") {
      const on = events(source, referralRenewalsAbi);
      on("RenewalReferred", (scope, { labelHash: labelhash, referrer: encodedReferrer }) =>
        applyReferral(scope, { managed, labelhash, encodedReferrer }),
      );
    } else {
      const on = events(source, registrarAbi);
      for (const event of contract.registrations) {
        on(event, (scope, { id, expires }) =>
          applyRegistration(scope, { managed, labelhash: tokenIdToHex(id), expires }),
        );
      }
      on("NameRenewed", (scope, { id, expires }) =>
        applyRenewal(scope, { managed, labelhash: tokenIdToHex(id), expires }),
      );
    }
  }
}
