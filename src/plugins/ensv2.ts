import { labelStoreAbi, leaseAbi, proxyFactoryAbi, registryV2Abi, resolverV2Abi } from "../../abis/ensv2.ts";
import { erc1155TransferAbi } from "../../abis/names.ts";
import type { Namespace } from "../deployments/deployment.ts";
import { ensv2, ensv2Datasources } from "../deployments/ensv2.ts";
import {
  deployedContracts,
  namesKey,
  type V2KnownContracts,
  v2KnownContracts,
} from "../deployments/namespaces.ts";
import type { LogsOf } from "../handlers/on.ts";
import * as entries from "../indexing/ensv2/entries.ts";
import { applyRolesChanged } from "../indexing/ensv2/events.ts";
import * as records from "../indexing/ensv2/records.ts";

/** Registers the indexing functions of the plugin `ensv2`: registries in registries, their roles, leases and records. */
export function registerEnsv2(logs: LogsOf, namespace: Namespace): void {
  const known = v2KnownContracts(namespace);
  for (const datasourceId of ensv2Datasources) {
    const source = (name: string) => namesKey(ensv2, datasourceId, name);
    registerRegistries(logs, source("Registries"), known);
    registerRecords(logs, source("ProxyRecords"));
    for (const name of ["RootRegistry", "ETHRegistry", "ProxyTokens"]) {
      const on = logs(source(name), erc1155TransferAbi);
      on("TransferSingle", (scope, { id, value, ...parties }) =>
        entries.applyTokens(scope, known, { ids: [id], values: [value], ...parties }),
      );
      on("TransferBatch", (scope, args) => entries.applyTokens(scope, known, args));
    }
    logs(source("VerifiableFactory"), proxyFactoryAbi)("ProxyDeployed", entries.applyProxyDeployed);
    logs(source("LabelStore"), labelStoreAbi)("Label", records.applyLabel);
  }
  for (const { datasourceId, name } of deployedContracts(namespace, ["v2Registrar"], [ensv2])) {
    const on = logs(namesKey(ensv2, datasourceId, name), leaseAbi);
    on("NameRegistered", records.applyLeaseStarted);
    on("NameRenewed", records.applyLeaseRenewed);
  }
}

function registerRegistries(logs: LogsOf, source: string, known: V2KnownContracts): void {
  const on = logs(source, registryV2Abi);
  on("LabelRegistered", (scope, args) => entries.applyLabelRegistered(scope, known, args));
  on("LabelReserved", (scope, args) => entries.applyLabelReserved(scope, known, args));
  on("LabelUnregistered", (scope, args) => entries.applyLabelUnregistered(scope, known, args));
  on("ExpiryUpdated", (scope, args) => entries.applyExpiryUpdated(scope, known, args));
  on("SubregistryUpdated", (scope, args) => entries.applySubregistryUpdated(scope, known, args));
  on("ResolverUpdated", (scope, args) => entries.applyResolverUpdated(scope, known, args));
  on("TokenRegenerated", entries.applyTokenRegenerated);
  on("TokenResource", entries.applyTokenResource);
  on("ParentUpdated", (scope, args) => entries.applyParentUpdated(scope, known, args));
  on("EACRolesChanged", (scope, args) => applyRolesChanged(scope, known, args));
}

function registerRecords(logs: LogsOf, source: string): void {
  const on = logs(source, resolverV2Abi);
  on("Upgraded", entries.applyUpgraded);
  on("ResolverCreated", entries.applyResolverCreated);
  on("Linked", records.applyLinked);
  on("Cleared", records.applyCleared);
  on("AddressUpdated", records.applyAddressUpdated);
  on("TextUpdated", records.applyTextUpdated);
  on("DataUpdated", records.applyDataUpdated);
  on("ContenthashUpdated", records.applyContenthashUpdated);
  on("ABIUpdated", records.applyAbiUpdated);
  on("InterfaceUpdated", records.applyInterfaceUpdated);
  on("NameUpdated", records.applyNameUpdated);
  on("AliasChanged", records.applyAliasChanged);
  on("NamedResource", (scope, args) => records.applyResource(scope, args, "name", ""));
  on("NamedTextResource", (scope, args) => records.applyResource(scope, args, "text", args.key));
  on("NamedDataResource", (scope, args) => records.applyResource(scope, args, "data", args.key));
  on("NamedAddrResource", (scope, args) =>
    records.applyResource(scope, args, "address", String(args.coinType)),
  );
  on("ResourceArgument", records.applyResourceArgument);
}
