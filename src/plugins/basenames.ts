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

// No controller tells a price.
const cost = 0n;

/** Registers the indexing functions of the plugin `basenames`: the deployment on Base, whose names end in `managed`. */
export function registerBasenames(
  settings: Settings,
  { isSource, managed }: { isSource: IsSource; managed: ManagedName },
): void {
  const on = onSources(isSource);

  registerRegistry(on, settings, "basenames/Registry", { isOldRegistry: false });

  // A registration tells resolver and time to live too if it sets them; the registry's own events carry these.
  for (const event of ["NameRegistered", "NameRegisteredWithRecord"] as const) {
    on(`basenames/BaseRegistrar:${event}`, ({ context, event }) =>
      recordNameRegistered(scopeOf(settings, context, event), {
        managed,
        labelhash: tokenIdToHex(event.args.id),
        owner: event.args.owner,
        expires: event.args.expires,
      }),
    );
  }
  on("basenames/BaseRegistrar:NameRenewed", ({ context, event }) =>
    recordNameRenewed(scopeOf(settings, context, event), {
      managed,
      labelhash: tokenIdToHex(event.args.id),
      expires: event.args.expires,
    }),
  );
  on("basenames/BaseRegistrar:Transfer", ({ context, event }) =>
    recordNameTransferred(scopeOf(settings, context, event), {
      managed,
      labelhash: tokenIdToHex(event.args.tokenId),
      to: event.args.to,
    }),
  );

  // In all controllers the argument `name` is the label and `label` its hash.
  for (const event of [
    "EARegistrarController:NameRegistered",
    "RegistrarController:NameRegistered",
    "RegistrarController:NameRenewed",
    "UpgradeableRegistrarController:NameRegistered",
    "UpgradeableRegistrarController:NameRenewed",
  ] as const) {
    on(`basenames/${event}`, ({ context, event }) =>
      recordControllerLabel(scopeOf(settings, context, event), {
        managed,
        labelhash: event.args.label,
        label: emittedString(event.log.data, 0, event.args.name),
        cost,
      }),
    );
  }

  registerResolver(on, settings, "basenames/Resolver");
  registerDnsResolver(on, settings, "basenames/DNSResolver");
}
