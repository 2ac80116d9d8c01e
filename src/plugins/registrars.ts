import { leaseAbi } from "../../abis/ensv2.ts";
import { baseRegistrarAbi, referralRenewalsAbi } from "../../abis/registrars.ts";
import type { Namespace } from "../deployments/deployment.ts";
import { deployedContracts, findManagedName, v2Subregistries } from "../deployments/namespaces.ts";
import { tokenIdToHex } from "../ens/ids.ts";
import { listRegistrations, onController } from "../handlers/names.ts";
import type { EventsOf, LogsOf } from "../handlers/on.ts";
import * as leases from "../indexing/ensv2/records.ts";
import { applyControllerFacts, applyRegistration, applyRenewal } from "../indexing/registrar.ts";

/** Registers the handlers of the plugin `registrars`: registrations and renewals of every deployment. */
export function registerRegistrars(events: EventsOf, namespace: Namespace, logs: LogsOf): void {
  const roles = ["baseRegistrar", "controller", "referrals"] as const;
  for (const { datasourceId, name, contract } of deployedContracts(namespace, roles)) {
    const source = `registrars/${datasourceId}/${name}`;
    const managed = findManagedName(namespace, datasourceId);
    if (contract.role === "controller") {
      onController(events, { source, contract }, (scope, facts) =>
        applyControllerFacts(scope, managed, facts),
      );
    } else if (contract.role === "referrals") {
      const on = events(source, referralRenewalsAbi);
      on("RenewalReferred", (scope, { labelHash: labelhash, referrer: encodedReferrer }) =>
        applyControllerFacts(scope, managed, { labelhash, encodedReferrer }),
      );
    } else {
      const on = events(source, baseRegistrarAbi);
      for (const event of listRegistrations(contract))
        on(event, (scope, { id, owner, expires }) =>
          applyRegistration(scope, { managed, labelhash: tokenIdToHex(id), owner, expires }),
        );
      on("NameRenewed", (scope, { id, expires }) =>
        applyRenewal(scope, { managed, labelhash: tokenIdToHex(id), expires }),
      );
    }
  }
  registerSales(logs, namespace);
}

function registerSales(logs: LogsOf, namespace: Namespace): void {
  const registries = v2Subregistries(namespace);
  for (const { datasourceId, name, contract } of deployedContracts(namespace, ["v2Registrar"])) {
    const on = logs(`registrars/${datasourceId}/${name}`, leaseAbi);
    const registry = registries.get(datasourceId)?.subregistryId;
    if (contract.isOfV1) on("NameRenewed", leases.applyV1RenewalSold);
    else if (registry !== undefined) {
      on("NameRegistered", (scope, { base, premium, ...sale }) =>
        leases.addSale(scope, registry, sale, { type: "registration", base, premium }),
      );
      on("NameRenewed", (scope, { amount: base, ...sale }) =>
        leases.addSale(scope, registry, sale, { type: "renewal", base, premium: 0n }),
      );
    }
  }
}
