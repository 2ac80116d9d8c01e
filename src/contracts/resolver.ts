import type { Hex } from "viem";
import { dnsTextRecord } from "../ens/dns-records.ts";
import { emittedString } from "../ens/event-strings.ts";
import {
  recordAbiChanged,
  recordAddrChanged,
  recordAddressChanged,
  recordAuthorisationChanged,
  recordContenthashChanged,
  recordDnsTextRecord,
  recordInterfaceChanged,
  recordNameChanged,
  recordPubkeyChanged,
  recordTextChanged,
  recordVersionChanged,
} from "../indexing/resolver.ts";
import { type Settings, scopeOf } from "../indexing/scope.ts";
import type { On } from "./on.ts";

type LogWithTopics = { log: { topics: readonly (Hex | null | undefined)[] } };

// Any contract may emit these. A log whose topics do not fit the declaration is another event of the same name.
const hasTopics = ({ log }: LogWithTopics, count: number) =>
  log.topics.filter((topic) => topic !== null && topic !== undefined).length === count;

type ResolverSource =
  | "subgraph/Resolver"
  | "basenames/Resolver"
  | "lineanames/Resolver"
  | "threedns/threednsOptimism/Resolver"
  | "threedns/threednsBase/Resolver";

/** Registers what resolvers tell of records. */
export function registerResolver(on: On, settings: Settings, source: ResolverSource): void {
  on(`${source}:AddrChanged`, async ({ context, event }) => {
    if (!hasTopics(event, 2)) return;
    await recordAddrChanged(scopeOf(settings, context, event), {
      node: event.args.node,
      address: event.args.a,
    });
  });
  on(`${source}:AddressChanged`, async ({ context, event }) => {
    if (!hasTopics(event, 2)) return;
    const { node, coinType, newAddress: address } = event.args;
    await recordAddressChanged(scopeOf(settings, context, event), { node, coinType, address });
  });
  on(`${source}:NameChanged`, async ({ context, event }) => {
    if (!hasTopics(event, 2)) return;
    const name = emittedString(event.log.data, 0, event.args.name);
    await recordNameChanged(scopeOf(settings, context, event), { node: event.args.node, name });
  });
  on(`${source}:ABIChanged`, async ({ context, event }) => {
    if (hasTopics(event, 3)) await recordAbiChanged(scopeOf(settings, context, event), event.args);
  });
  on(`${source}:PubkeyChanged`, async ({ context, event }) => {
    if (hasTopics(event, 2)) await recordPubkeyChanged(scopeOf(settings, context, event), event.args);
  });
  on(
    `${source}:TextChanged(bytes32 indexed node, string indexed indexedKey, string key)`,
    async ({ context, event }) => {
      if (!hasTopics(event, 3)) return;
      const key = emittedString(event.log.data, 0, event.args.key);
      await recordTextChanged(scopeOf(settings, context, event), {
        node: event.args.node,
        key,
        value: undefined,
      });
    },
  );
  on(
    `${source}:TextChanged(bytes32 indexed node, string indexed indexedKey, string key, string value)`,
    async ({ context, event }) => {
      if (!hasTopics(event, 3)) return;
      const key = emittedString(event.log.data, 0, event.args.key);
      const value = emittedString(event.log.data, 1, event.args.value);
      await recordTextChanged(scopeOf(settings, context, event), { node: event.args.node, key, value });
    },
  );
  on(`${source}:ContenthashChanged`, async ({ context, event }) => {
    if (hasTopics(event, 2)) await recordContenthashChanged(scopeOf(settings, context, event), event.args);
  });
  on(`${source}:InterfaceChanged`, async ({ context, event }) => {
    if (hasTopics(event, 3)) await recordInterfaceChanged(scopeOf(settings, context, event), event.args);
  });
  on(`${source}:AuthorisationChanged`, async ({ context, event }) => {
    if (!hasTopics(event, 4)) return;
    const { node, owner, target, isAuthorised: isAuthorized } = event.args;
    await recordAuthorisationChanged(scopeOf(settings, context, event), {
      node,
      owner,
      target,
      isAuthorized,
    });
  });
  on(`${source}:VersionChanged`, async ({ context, event }) => {
    if (!hasTopics(event, 2)) return;
    const { node, newVersion: version } = event.args;
    await recordVersionChanged(scopeOf(settings, context, event), { node, version });
  });
}

type DnsResolverSource = "subgraph/DNSResolver" | "basenames/DNSResolver" | "lineanames/DNSResolver";

/** Registers the DNS records that stand for text records; the sources exist outside subgraph mode only. */
export function registerDnsResolver(on: On, settings: Settings, source: DnsResolverSource): void {
  on(
    `${source}:DNSRecordChanged(bytes32 indexed node, bytes name, uint16 resource, bytes record)`,
    async ({ context, event }) => {
      if (!hasTopics(event, 2)) return;
      await recordDnsTextRecord(
        scopeOf(settings, context, event),
        event.args.node,
        dnsTextRecord(event.args),
      );
    },
  );
  on(
    `${source}:DNSRecordChanged(bytes32 indexed node, bytes name, uint16 resource, uint32 ttl, bytes record)`,
    async ({ context, event }) => {
      if (!hasTopics(event, 2)) return;
      await recordDnsTextRecord(
        scopeOf(settings, context, event),
        event.args.node,
        dnsTextRecord(event.args),
      );
    },
  );
  on(`${source}:DNSRecordDeleted`, async ({ context, event }) => {
    if (!hasTopics(event, 2)) return;
    await recordDnsTextRecord(scopeOf(settings, context, event), event.args.node, dnsTextRecord(event.args));
  });
}
