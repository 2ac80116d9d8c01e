import { registerNameWrapper } from "../contracts/name-wrapper.ts";
import { type IsSource, onSources } from "../contracts/on.ts";
import { registerRegistry } from "../contracts/registry.ts";
import { registerDnsResolver, registerResolver } from "../contracts/resolver.ts";
import { emittedString } from "../ens/event-strings.ts";
import { tokenIdToHex } from "../ens/nodes.ts";
import {
  type ManagedName,
  recordControllerLabel,
  recordNameRegistered,
  recordNameRenewed,
  recordNameTransferred,
} from "../indexing/registrar.ts";
import { type Settings, scopeOf } from "../indexing/scope.ts";

/**
 * Registers the indexing functions of the plugin `subgraph`: the ENS contracts of the root chain.
 * `isSource` tells which contract entries the configuration has; the others are left out.
 */
export function registerSubgraph(
  settings: Settings,
  { isSource, managed }: { isSource: IsSource; managed: ManagedName },
): void {
  const on = onSources(isSource);

  registerRegistry(on, settings, "subgraph/ENSv1RegistryOld", { isOldRegistry: true });
  registerRegistry(on, settings, "subgraph/ENSv1Registry", { isOldRegistry: false });

  on("subgraph/BaseRegistrar:NameRegistered", ({ context, event }) =>
    recordNameRegistered(scopeOf(settings, context, event), {
      managed,
      labelhash: tokenIdToHex(event.args.id),
      owner: event.args.owner,
      expires: event.args.expires,
    }),
  );
  on("subgraph/BaseRegistrar:NameRenewed", ({ context, event }) =>
    recordNameRenewed(scopeOf(settings, context, event), {
      managed,
      labelhash: tokenIdToHex(event.args.id),
      expires: event.args.expires,
    }),
  );
  on("subgraph/BaseRegistrar:Transfer", ({ context, event }) =>
    recordNameTransferred(scopeOf(settings, context, event), {
      managed,
      labelhash: tokenIdToHex(event.args.tokenId),
      to: event.args.to,
    }),
  );

  // In the first two controllers the argument `name` is the label and `label` its hash.
  on("subgraph/LegacyEthRegistrarController:NameRegistered", ({ context, event }) =>
    recordControllerLabel(scopeOf(settings, context, event), {
      managed,
      labelhash: event.args.label,
      label: emittedString(event.log.data, 0, event.args.name),
      cost: event.args.cost,
    }),
  );
  on("subgraph/LegacyEthRegistrarController:NameRenewed", ({ context, event }) =>
    recordControllerLabel(scopeOf(settings, context, event), {
      managed,
      labelhash: event.args.label,
      label: emittedString(event.log.data, 0, event.args.name),
      cost: event.args.cost,
    }),
  );
  on("subgraph/WrappedEthRegistrarController:NameRegistered", ({ context, event }) =>
    recordControllerLabel(scopeOf(settings, context, event), {
      managed,
      labelhash: event.args.label,
      label: emittedString(event.log.data, 0, event.args.name),
      cost: event.args.baseCost + event.args.premium,
    }),
  );
  on("subgraph/WrappedEthRegistrarController:NameRenewed", ({ context, event }) =>
    recordControllerLabel(scopeOf(settings, context, event), {
      managed,
      labelhash: event.args.label,
      label: emittedString(event.log.data, 0, event.args.name),
      cost: event.args.cost,
    }),
  );
  on("subgraph/UnwrappedEthRegistrarController:NameRegistered", ({ context, event }) =>
    recordControllerLabel(scopeOf(settings, context, event), {
      managed,
      labelhash: event.args.labelhash,
      label: emittedString(event.log.data, 0, event.args.label),
      cost: event.args.baseCost + event.args.premium,
    }),
  );
  on("subgraph/UnwrappedEthRegistrarController:NameRenewed", ({ context, event }) =>
    recordControllerLabel(scopeOf(settings, context, event), {
      managed,
      labelhash: event.args.labelhash,
      label: emittedString(event.log.data, 0, event.args.label),
      cost: event.args.cost,
    }),
  );

  registerNameWrapper(on, settings, "subgraph/NameWrapper", managed);
  registerResolver(on, settings, "subgraph/Resolver");
  registerDnsResolver(on, settings, "subgraph/DNSResolver");
}
