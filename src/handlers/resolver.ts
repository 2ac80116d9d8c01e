import { dnsResolverAbi, resolverAbi, textChanged } from "../../abis/resolver.ts";
import type { Deployment, Namespace } from "../deployments/deployment.ts";
import { deployedContracts, namesKey } from "../deployments/namespaces.ts";
import { dnsTextRecord } from "../ens/dns-records.ts";
import {
  applyAbiChanged,
  applyAddrChanged,
  applyAddressChanged,
  applyAuthorisationChanged,
  applyContenthashChanged,
  applyDnsTextRecord,
  applyInterfaceChanged,
  applyNameChanged,
  applyPubkeyChanged,
  applyTextChanged,
  applyVersionChanged,
} from "../indexing/resolver.ts";
import type { EventsOf, On } from "./on.ts";

export const textChangedWithValue =
  "TextChanged(bytes32 indexed node, string indexed indexedKey, string key, string value)";

/** The events of DNS records: without and with a time to live, and deletion. */
export const dnsRecordEvents = [
  "DNSRecordChanged(bytes32 indexed node, bytes name, uint16 resource, bytes record)",
  "DNSRecordChanged(bytes32 indexed node, bytes name, uint16 resource, uint32 ttl, bytes record)",
  "DNSRecordDeleted",
] as const;

/** Registers the record events of every resolver on the chains of a deployment, DNS records among them. */
export function registerResolvers(events: EventsOf, namespace: Namespace, deployment: Deployment): void {
  for (const { datasourceId, name } of deployedContracts(namespace, ["resolver"], [deployment])) {
    registerRecords(events(namesKey(deployment, datasourceId, name), resolverAbi));
    const on = events(namesKey(deployment, datasourceId, `DNS${name}`), dnsResolverAbi);
    for (const event of dnsRecordEvents) {
      on(event, (scope, args) => applyDnsTextRecord(scope, args.node, dnsTextRecord(args)));
    }
  }
}

/** Registers the record events of one contract entry. */
export function registerRecords(on: On<typeof resolverAbi>): void {
  on("AddrChanged", (scope, { node, a: address }) => applyAddrChanged(scope, { node, address }));
  on("AddressChanged", (scope, { node, coinType, newAddress: address }) =>
    applyAddressChanged(scope, { node, coinType, address }),
  );
  on("NameChanged", applyNameChanged);
  on("ABIChanged", applyAbiChanged);
  on("PubkeyChanged", applyPubkeyChanged);
  on(textChanged, (scope, { node, key }) => applyTextChanged(scope, { node, key, value: undefined }));
  on(textChangedWithValue, applyTextChanged);
  on("ContenthashChanged", applyContenthashChanged);
  on("InterfaceChanged", applyInterfaceChanged);
  on("AuthorisationChanged", (scope, { node, owner, target, isAuthorised: isAuthorized }) =>
    applyAuthorisationChanged(scope, { node, owner, target, isAuthorized }),
  );
  on("VersionChanged", (scope, { node, newVersion: version }) =>
    applyVersionChanged(scope, { node, version }),
  );
}
