import type { Hex } from "viem";
import { type IsSource, type On, onContract, onSources } from "../contracts/on.ts";
import { registerResolver } from "../contracts/resolver.ts";
import { dnsTextRecord } from "../ens/dns-records.ts";
import { recordRegistryTransfer } from "../indexing/registry.ts";
import { recordDnsTextRecord } from "../indexing/resolver.ts";
import { type Settings, scopeOf } from "../indexing/scope.ts";
import { recordDomainCreated, recordExtension, recordRegistrationCreated } from "../indexing/threedns.ts";
import { readTokenUri } from "../indexing/threedns-metadata.ts";

type Deployment = "threednsOptimism" | "threednsBase";

/**
 * Registers the indexing functions of the plugin `threedns`: the 3DNS token on Optimism and on Base.
 * `resolvers` are the addresses of the one resolver of each deployment.
 */
export function registerThreedns(
  settings: Settings,
  { isSource, resolvers }: { isSource: IsSource; resolvers: Record<Deployment, Hex | undefined> },
): void {
  const on = onSources(isSource);
  for (const deployment of ["threednsOptimism", "threednsBase"] as const) {
    const resolver = resolvers[deployment];
    registerToken(on, settings, deployment, resolver);
    // With `protocol-acceleration` the sources bring the events of every resolver of the chain.
    const onResolver = onContract(on, resolver);
    registerResolver(onResolver, settings, `threedns/${deployment}/Resolver`);
    registerDnsRecords(onResolver, settings, deployment);
  }
}

function registerToken(on: On, settings: Settings, deployment: Deployment, resolver: Hex | undefined): void {
  on(`threedns/${deployment}/ThreeDNSToken:RegistrationCreated`, ({ context, event }) =>
    recordRegistrationCreated(scopeOf(settings, context, event), {
      node: event.args.node,
      parentNode: event.args.tld,
      fqdn: event.args.fqdn,
      registrant: event.args.registrant,
      expires: event.args.expiry,
    }),
  );
  on(`threedns/${deployment}/ThreeDNSToken:RegistrationExtended`, ({ context, event }) =>
    recordExtension(scopeOf(settings, context, event), {
      node: event.args.node,
      expires: event.args.newExpiry,
    }),
  );
  on(`threedns/${deployment}/ThreeDNSToken:NewOwner`, ({ context, event }) =>
    recordDomainCreated(scopeOf(settings, context, event), {
      parentNode: event.args.node,
      labelhash: event.args.label,
      owner: event.args.owner,
      resolver,
      readUri: (tokenId) => readTokenUri(context.client, { address: event.log.address, tokenId }),
    }),
  );
  on(`threedns/${deployment}/ThreeDNSToken:Transfer`, ({ context, event }) =>
    recordRegistryTransfer(scopeOf(settings, context, event), {
      node: event.args.node,
      owner: event.args.owner,
      isOldRegistry: false,
    }),
  );
}

function registerDnsRecords(on: On, settings: Settings, deployment: Deployment): void {
  for (const event of ["DNSRecordChanged", "DNSRecordDeleted"] as const) {
    on(`threedns/${deployment}/DNSResolver:${event}`, ({ context, event }) =>
      recordDnsTextRecord(scopeOf(settings, context, event), event.args.node, dnsTextRecord(event.args)),
    );
  }
}
