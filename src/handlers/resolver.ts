import type { Hex } from "viem";
import { dnsResolverAbi, resolverAbi, textChanged } from "../../abis/resolver.ts";
import type { Deployment, Namespace } from "../deployments/deployment.ts";
import { deployedContracts, namesKey } from "../deployments/namespaces.ts";
import { dnsTextRecord } from "../ens/dns-records.ts";
import {
  applyAddrChanged,
  applyAddressChanged,
  applyContenthashChanged,
  applyNameChanged,
  applyRecordEvent,
  applyTextChanged,
  applyVersionChanged,
} from "../indexing/resolver.ts";
import type { Scope } from "../indexing/scope.ts";
import type { EventsOf, On } from "./on.ts";

export const textChangedWithValue =
  "TextChanged(bytes32 indexed node, string indexed indexedKey, string key, string value)";

/** The events of DNS records: without and with a time to live, and deletion. */
export const dnsRecordEvents = [
  "DNSRecordChanged(bytes32 indexed node, bytes name, uint16 resource, bytes record)",
  "DNSRecordChanged(bytes32 indexed node, bytes name, uint16 resource, uint32 ttl, bytes record)",
  "DNSRecordDeleted",
] as const;

/** Turns a handler of text records into one of DNS record events, called for those that set or delete a text. */
export const ofDnsRecords =
  (handler: (scope: Scope, record: { node: Hex; key: string; value: string | undefined }) => unknown) =>
  (scope: Scope, args: Parameters<typeof dnsTextRecord>[0] & { node: Hex }): unknown => {
    const record = dnsTextRecord(args);
    return record && handler(scope, { node: args.node, ...record });
  };

/** Registers the record events of every resolver on a deployment's chains, DNS records included. */
export function registerResolvers(events: EventsOf, namespace: Namespace, deployment: Deployment): void {
  for (const { datasourceId, name, address } of deployedContracts(namespace, ["resolver"], [deployment])) {
    // If the deployment has one resolver, its address excludes others, whose events come with `protocol-acceleration`.
    registerRecords(events(namesKey(deployment, datasourceId, name), resolverAbi, address));
    const on = events(namesKey(deployment, datasourceId, `DNS${name}`), dnsResolverAbi, address);
    for (const event of dnsRecordEvents) on(event, ofDnsRecords(applyTextChanged));
  }
}

function registerRecords(on: On<typeof resolverAbi>): void {
  on("AddrChanged", applyAddrChanged);
  on("AddressChanged", applyAddressChanged);
  on("NameChanged", applyNameChanged);
  on("ABIChanged", (scope, { node, contentType }) =>
    applyRecordEvent(scope, node, { type: "AbiChanged", contentType }),
  );
  on("PubkeyChanged", (scope, { node, x, y }) =>
    applyRecordEvent(scope, node, { type: "PubkeyChanged", x, y }),
  );
  on(textChanged, applyTextChanged);
  on(textChangedWithValue, applyTextChanged);
  on("ContenthashChanged", applyContenthashChanged);
  on("InterfaceChanged", (scope, { node, interfaceID, implementer }) =>
    applyRecordEvent(scope, node, { type: "InterfaceChanged", interfaceID, implementer }),
  );
  on("AuthorisationChanged", (scope, { node, owner, target, isAuthorised: isAuthorized }) =>
    applyRecordEvent(scope, node, { type: "AuthorisationChanged", owner, target, isAuthorized }),
  );
  on("VersionChanged", applyVersionChanged);
}
