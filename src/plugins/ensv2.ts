import {
  accountFactoryAbi,
  labelStoreAbi,
  proxyFactoryAbi,
  registryV2Abi,
  resolverV2Abi,
} from "../../abis/ensv2.ts";
import { erc1155TransferAbi } from "../../abis/names.ts";
import { ensv2, ensv2Datasources } from "../deployments/ensv2.ts";
import { namesKey } from "../deployments/namespaces.ts";
import type { LogsOf } from "../handlers/on.ts";
import * as entries from "../indexing/ensv2/entries.ts";
import { applyRolesChanged } from "../indexing/ensv2/events.ts";
import * as records from "../indexing/ensv2/records.ts";

/** Registers the handlers of the plugin `ensv2`: registries in registries, their roles and records. */
export function registerEnsv2(logs: LogsOf): void {
  for (const datasourceId of ensv2Datasources) {
    const source = (name: string) => namesKey(ensv2, datasourceId, name);
    registerRegistries(logs, source("Registries"));
    registerRecords(logs, source("ProxyRecords"));
    for (const name of ["RootRegistry", "ETHRegistry", "ProxyTokens"]) {
      const on = logs(source(name), erc1155TransferAbi);
      on("TransferSingle", (scope, { id, value, ...parties }) =>
        entries.applyTokens(scope, { ids: [id], values: [value], ...parties }),
      );
      on("TransferBatch", entries.applyTokens);
    }
    logs(source("VerifiableFactory"), proxyFactoryAbi)("ProxyDeployed", entries.applyProxyDeployed);
    logs(source("LabelStore"), labelStoreAbi)("Label", records.applyLabel);
    logs(source("StandaloneHCAFactory"), accountFactoryAbi)("AccountCreated", records.applyAccountCreated);
  }
}

function registerRegistries(logs: LogsOf, source: string): void {
  const on = logs(source, registryV2Abi);
  on("LabelRegistered", entries.applyLabelRegistered);
  on("LabelReserved", entries.applyLabelReserved);
  on("LabelUnregistered", entries.applyLabelUnregistered);
  on("ExpiryUpdated", entries.applyExpiryUpdated);
  on("SubregistryUpdated", entries.applySubregistryUpdated);
  on("ResolverUpdated", entries.applyResolverUpdated);
  on("TokenRegenerated", (scope, { oldTokenId: tokenId, newTokenId }) =>
    entries.applyTokenRegenerated(scope, { tokenId, newTokenId }),
  );
  on("TokenResource", entries.applyTokenResource);
  on("ParentUpdated", entries.applyParentUpdated);
  on("EACRolesChanged", applyRolesChanged);
}

function registerRecords(logs: LogsOf, source: string): void {
  const on = logs(source, resolverV2Abi);
  on("Upgraded", entries.applyUpgraded);
  on("ResolverCreated", entries.applyResolverCreated);
  on("Linked", records.applyLinked);
  on("Cleared", records.applyCleared);
  on("AddressUpdated", (scope, { recordId, coinType, addressBytes: value }) =>
    records.setRecord(scope, recordId, { kind: "address", key: String(coinType), value }),
  );
  on("TextUpdated", (scope, { recordId, key, value }) =>
    records.setRecord(scope, recordId, { kind: "text", key, value }),
  );
  on("DataUpdated", (scope, { recordId, key, value }) =>
    records.setRecord(scope, recordId, { kind: "data", key, value }),
  );
  on("ContenthashUpdated", (scope, { recordId, hash: value }) =>
    records.setRecord(scope, recordId, { kind: "contenthash", key: "", value }),
  );
  // The event carries no value.
  on("ABIUpdated", (scope, { recordId, contentType }) =>
    records.setRecord(scope, recordId, { kind: "abi", key: String(contentType), value: null }),
  );
  on("InterfaceUpdated", (scope, { recordId, interfaceId: key, implementer: value }) =>
    records.setRecord(scope, recordId, { kind: "interface", key, value }),
  );
  on("NameUpdated", (scope, { recordId, primaryName: value }) =>
    records.setRecord(scope, recordId, { kind: "name", key: "", value }),
  );
  on("AliasChanged", records.applyAliasChanged);
  on("NamedResource", (scope, args) => records.applyNamedResource(scope, args, "name", ""));
  on("NamedTextResource", (scope, args) => records.applyNamedResource(scope, args, "text", args.key));
  on("NamedDataResource", (scope, args) => records.applyNamedResource(scope, args, "data", args.key));
  on("NamedAddrResource", (scope, args) =>
    records.applyNamedResource(scope, args, "address", String(args.coinType)),
  );
  // Limits roles to one key, coin type or interface, of any name.
  on("ResourceArgument", (scope, { resource, arg: key }) =>
    records.setResource(scope, resource, { node: null, name: null, kind: "argument", key }),
  );
}
