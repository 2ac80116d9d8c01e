import { ponder } from "ponder:registry";
import type { Hex } from "viem";
import { dnsTextRecord } from "../ens/dns-records.ts";
import { emittedString } from "../ens/event-strings.ts";
import { tokenIdToHex } from "../ens/nodes.ts";
import {
  recordExpiryExtended,
  recordFusesSet,
  recordNameUnwrapped,
  recordNameWrapped,
  recordWrappedTransfer,
} from "../indexing/name-wrapper.ts";
import {
  type ManagedName,
  recordControllerLabel,
  recordNameRegistered,
  recordNameRenewed,
  recordNameTransferred,
} from "../indexing/registrar.ts";
import {
  recordNewOwner,
  recordNewResolver,
  recordNewTtl,
  recordRegistryTransfer,
} from "../indexing/registry.ts";
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

/**
 * Registers the indexing functions of the plugin `subgraph`: the ENS contracts of the root chain.
 * `isSource` tells which contract entries the configuration has; the others are left out.
 */
export function registerSubgraph(
  settings: Settings,
  { isSource, managed }: { isSource: (source: string) => boolean; managed: ManagedName },
): void {
  const on: typeof ponder.on = (name, handler) => {
    if (isSource(name.slice(0, name.indexOf(":")))) ponder.on(name, handler);
  };

  for (const registry of ["subgraph/ENSv1RegistryOld", "subgraph/ENSv1Registry"] as const) {
    const isOldRegistry = registry === "subgraph/ENSv1RegistryOld";
    on(`${registry}:NewOwner`, ({ context, event }) =>
      recordNewOwner(scopeOf(settings, context, event), {
        parentNode: event.args.node,
        labelhash: event.args.label,
        owner: event.args.owner,
        isOldRegistry,
      }),
    );
    on(`${registry}:Transfer`, ({ context, event }) =>
      recordRegistryTransfer(scopeOf(settings, context, event), {
        node: event.args.node,
        owner: event.args.owner,
        isOldRegistry,
      }),
    );
    on(`${registry}:NewResolver`, ({ context, event }) =>
      recordNewResolver(scopeOf(settings, context, event), {
        node: event.args.node,
        resolver: event.args.resolver,
        isOldRegistry,
      }),
    );
    on(`${registry}:NewTTL`, ({ context, event }) =>
      recordNewTtl(scopeOf(settings, context, event), {
        node: event.args.node,
        ttl: event.args.ttl,
        isOldRegistry,
      }),
    );
  }

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

  on("subgraph/NameWrapper:NameWrapped", ({ context, event }) =>
    recordNameWrapped(scopeOf(settings, context, event), event.args),
  );
  on("subgraph/NameWrapper:NameUnwrapped", ({ context, event }) =>
    recordNameUnwrapped(scopeOf(settings, context, event), { ...event.args, managedNode: managed.node }),
  );
  on("subgraph/NameWrapper:FusesSet", ({ context, event }) =>
    recordFusesSet(scopeOf(settings, context, event), event.args),
  );
  on("subgraph/NameWrapper:ExpiryExtended", ({ context, event }) =>
    recordExpiryExtended(scopeOf(settings, context, event), event.args),
  );
  on("subgraph/NameWrapper:TransferSingle", ({ context, event }) =>
    recordWrappedTransfer(scopeOf(settings, context, event), {
      node: tokenIdToHex(event.args.id),
      to: event.args.to,
      place: 0,
    }),
  );
  on("subgraph/NameWrapper:TransferBatch", async ({ context, event }) => {
    const scope = scopeOf(settings, context, event);
    const { ids, to } = event.args;
    for (const [place, id] of ids.entries()) {
      await recordWrappedTransfer(scope, { node: tokenIdToHex(id), to, place });
    }
  });

  registerResolver(settings, on);
  registerDnsResolver(settings, on);
}

type LogWithTopics = { log: { topics: readonly (Hex | null | undefined)[] } };

// Any contract may emit these. A log whose topics do not fit the declaration is another event of the same name.
const hasTopics = ({ log }: LogWithTopics, count: number) =>
  log.topics.filter((topic) => topic !== null && topic !== undefined).length === count;

function registerResolver(settings: Settings, on: typeof ponder.on): void {
  on("subgraph/Resolver:AddrChanged", async ({ context, event }) => {
    if (!hasTopics(event, 2)) return;
    await recordAddrChanged(scopeOf(settings, context, event), {
      node: event.args.node,
      address: event.args.a,
    });
  });
  on("subgraph/Resolver:AddressChanged", async ({ context, event }) => {
    if (!hasTopics(event, 2)) return;
    const { node, coinType, newAddress: address } = event.args;
    await recordAddressChanged(scopeOf(settings, context, event), { node, coinType, address });
  });
  on("subgraph/Resolver:NameChanged", async ({ context, event }) => {
    if (!hasTopics(event, 2)) return;
    const name = emittedString(event.log.data, 0, event.args.name);
    await recordNameChanged(scopeOf(settings, context, event), { node: event.args.node, name });
  });
  on("subgraph/Resolver:ABIChanged", async ({ context, event }) => {
    if (hasTopics(event, 3)) await recordAbiChanged(scopeOf(settings, context, event), event.args);
  });
  on("subgraph/Resolver:PubkeyChanged", async ({ context, event }) => {
    if (hasTopics(event, 2)) await recordPubkeyChanged(scopeOf(settings, context, event), event.args);
  });
  on(
    "subgraph/Resolver:TextChanged(bytes32 indexed node, string indexed indexedKey, string key)",
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
    "subgraph/Resolver:TextChanged(bytes32 indexed node, string indexed indexedKey, string key, string value)",
    async ({ context, event }) => {
      if (!hasTopics(event, 3)) return;
      const key = emittedString(event.log.data, 0, event.args.key);
      const value = emittedString(event.log.data, 1, event.args.value);
      await recordTextChanged(scopeOf(settings, context, event), { node: event.args.node, key, value });
    },
  );
  on("subgraph/Resolver:ContenthashChanged", async ({ context, event }) => {
    if (hasTopics(event, 2)) await recordContenthashChanged(scopeOf(settings, context, event), event.args);
  });
  on("subgraph/Resolver:InterfaceChanged", async ({ context, event }) => {
    if (hasTopics(event, 3)) await recordInterfaceChanged(scopeOf(settings, context, event), event.args);
  });
  on("subgraph/Resolver:AuthorisationChanged", async ({ context, event }) => {
    if (!hasTopics(event, 4)) return;
    const { node, owner, target, isAuthorised: isAuthorized } = event.args;
    await recordAuthorisationChanged(scopeOf(settings, context, event), {
      node,
      owner,
      target,
      isAuthorized,
    });
  });
  on("subgraph/Resolver:VersionChanged", async ({ context, event }) => {
    if (!hasTopics(event, 2)) return;
    const { node, newVersion: version } = event.args;
    await recordVersionChanged(scopeOf(settings, context, event), { node, version });
  });
}

// Present outside subgraph mode only.
function registerDnsResolver(settings: Settings, on: typeof ponder.on): void {
  on(
    "subgraph/DNSResolver:DNSRecordChanged(bytes32 indexed node, bytes name, uint16 resource, bytes record)",
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
    "subgraph/DNSResolver:DNSRecordChanged(bytes32 indexed node, bytes name, uint16 resource, uint32 ttl, bytes record)",
    async ({ context, event }) => {
      if (!hasTopics(event, 2)) return;
      await recordDnsTextRecord(
        scopeOf(settings, context, event),
        event.args.node,
        dnsTextRecord(event.args),
      );
    },
  );
  on("subgraph/DNSResolver:DNSRecordDeleted", async ({ context, event }) => {
    if (!hasTopics(event, 2)) return;
    await recordDnsTextRecord(scopeOf(settings, context, event), event.args.node, dnsTextRecord(event.args));
  });
}
