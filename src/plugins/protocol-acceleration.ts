import { toCoinType } from "viem";
import { registryAbi, threednsTokenAbi } from "../../abis/names.ts";
import { reverseRegistrarAbi } from "../../abis/registrars.ts";
import { resolverRecordsAbi, textChanged } from "../../abis/resolver.ts";
import type { Namespace } from "../deployments/deployment.ts";
import { rootDatasource, rootRegistry } from "../deployments/ens.ts";
import { deployedContracts } from "../deployments/namespaces.ts";
import { subnode, zeroAddress } from "../ens/ids.ts";
import { bytesValue, nameValue, pubkeyValue } from "../ens/record-values.ts";
import { defaultEvmCoinType } from "../ens/reverse-names.ts";
import type { EventsOf, On } from "../handlers/on.ts";
import { dnsRecordEvents, ofDnsRecords, textChangedWithValue } from "../handlers/resolver.ts";
import { readTextRecord } from "../indexing/node-reads.ts";
import {
  addAbiContentType,
  clearRecords,
  migrateSubname,
  saveRecords,
  setAddressRecord,
  setAddrRecord,
  setDataRecord,
  setFormerRelation,
  setRelation,
  setReverseName,
  setTextRecord,
} from "../indexing/resolver-records.ts";

const plugin = "protocol-acceleration";

/** Registers the handlers of the plugin `protocol-acceleration`: what resolving names from the index needs. */
export function registerProtocolAcceleration(events: EventsOf, namespace: Namespace): void {
  registerRegistries(events, namespace);
  registerThreednsTokens(events, namespace);
  registerReverseRegistrars(events, namespace);
  registerResolvers(events(`${plugin}/Resolver`, resolverRecordsAbi));
}

// Both registries of the root chain write under the new one's address.
function registerRegistries(events: EventsOf, namespace: Namespace): void {
  const registry = namespace[rootDatasource]?.contracts[rootRegistry]?.address ?? zeroAddress;
  for (const { datasourceId, name, contract } of deployedContracts(namespace, ["registry"])) {
    const on = events(`${plugin}/${datasourceId}/${name}`, registryAbi);
    if (contract.generation === "old") {
      on("NewResolver", (scope, { node, resolver }) =>
        setFormerRelation(scope, { registry, node, resolver }),
      );
      continue;
    }
    if (contract.generation === "new") {
      on("NewOwner", (scope, { node: parentNode, label: labelhash }) =>
        migrateSubname(scope, { registry, parentNode, labelhash }),
      );
    }
    on("NewResolver", (scope, { node, resolver }) =>
      setRelation(scope, { registry: scope.emitter, node, resolver }),
    );
  }
}

// A 3DNS name has its chain's only resolver from the start.
function registerThreednsTokens(events: EventsOf, namespace: Namespace): void {
  const resolvers = deployedContracts(namespace, ["resolver"]);
  for (const { datasourceId, name } of deployedContracts(namespace, ["threednsToken"])) {
    const resolver = resolvers.find((one) => one.datasourceId === datasourceId)?.address;
    if (resolver === undefined) continue;
    const on = events(`${plugin}/${datasourceId}/${name}`, threednsTokenAbi);
    on("NewOwner", (scope, { node: parentNode, label }) =>
      setRelation(scope, { registry: scope.emitter, node: subnode(parentNode, label), resolver }),
    );
  }
}

function registerReverseRegistrars(events: EventsOf, namespace: Namespace): void {
  for (const { contract, chainId, ...of } of deployedContracts(namespace, ["reverseRegistrar"])) {
    const coinType = contract.scope === "default" ? defaultEvmCoinType : toCoinType(chainId);
    const on = events(`${plugin}/${of.datasourceId}/${of.name}`, reverseRegistrarAbi);
    on("NameForAddrChanged", (scope, { addr: address, name }) =>
      setReverseName(scope, { address, coinType, name }),
    );
  }
}

function registerResolvers(on: On<typeof resolverRecordsAbi>): void {
  on("AddrChanged", setAddrRecord);
  on("AddressChanged", setAddressRecord);
  on("NameChanged", (scope, { node, name }) => saveRecords(scope, node, () => ({ name: nameValue(name) })));
  on(textChanged, async (scope, record) =>
    setTextRecord(scope, { ...record, value: await readTextRecord(scope, record) }),
  );
  on(textChangedWithValue, setTextRecord);
  on("VersionChanged", clearRecords);
  on("ContenthashChanged", (scope, { node, hash }) =>
    saveRecords(scope, node, () => ({ contenthash: bytesValue(hash) })),
  );
  on("PubkeyChanged", (scope, { node, ...key }) => {
    const { x = null, y = null } = pubkeyValue(key) ?? {};
    return saveRecords(scope, node, () => ({ pubkeyX: x, pubkeyY: y }));
  });
  on("ABIChanged", addAbiContentType);
  on("DataChanged", setDataRecord);
  on("DNSZonehashChanged", (scope, { node, zonehash }) =>
    saveRecords(scope, node, () => ({ dnszonehash: bytesValue(zonehash) })),
  );
  for (const event of dnsRecordEvents) on(event, ofDnsRecords(setTextRecord));
}
