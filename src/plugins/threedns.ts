import { threednsTokenAbi } from "../../abis/names.ts";
import { resolverAbi, threednsDnsResolverAbi } from "../../abis/resolver.ts";
import type { Namespace } from "../deployments/deployment.ts";
import { deployedContracts, namesKey } from "../deployments/namespaces.ts";
import { threedns } from "../deployments/threedns.ts";
import type { EventsOf } from "../handlers/on.ts";
import { ofDnsRecords, registerRecords } from "../handlers/resolver.ts";
import { applyRegistryTransfer } from "../indexing/registry.ts";
import { applyTextChanged } from "../indexing/resolver.ts";
import {
  applyDomainCreated,
  applyRegistrationCreated,
  applyRegistrationExtended,
} from "../indexing/threedns.ts";

/** Registers the indexing functions of the plugin `threedns`: the 3DNS token and its one resolver, on each chain. */
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
  for (const { datasourceId, name, address } of resolvers) {
    // With `protocol-acceleration` the sources bring the events of every resolver of the chain.
    registerRecords(events(namesKey(threedns, datasourceId, name), resolverAbi, address));
    const on = events(namesKey(threedns, datasourceId, `DNS${name}`), threednsDnsResolverAbi, address);
    for (const event of ["DNSRecordChanged", "DNSRecordDeleted"] as const)
      on(event, ofDnsRecords(applyTextChanged));
  }
}
