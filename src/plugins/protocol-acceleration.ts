import { ponder } from "ponder:registry";
import type { Hex } from "viem";
import { textRecordAbi } from "../../abis/protocol-acceleration.ts";
import { coinTypeOfChain, defaultEvmCoinType } from "../ens/coin-types.ts";
import { readOrUndefined } from "../ens/contract-refusals.ts";
import { dnsTextRecord } from "../ens/dns-records.ts";
import { emittedString } from "../ens/event-strings.ts";
import { subnode } from "../ens/nodes.ts";
import { outlastOutage } from "../indexing/outlast-outage.ts";
import {
  addAbiContentType,
  clearRecords,
  setAddressRecord,
  setAddrRecord,
  setContenthashRecord,
  setDnsTextRecord,
  setNameRecord,
  setPubkeyRecord,
  setTextRecord,
  setZonehashRecord,
} from "../indexing/resolver-records.ts";
import { migrateSubname, setFormerRelation, setRelation } from "../indexing/resolver-relations.ts";
import { setReverseName } from "../indexing/reverse-names.ts";
import { type Settings, scopeOf } from "../indexing/scope.ts";

const plugin = "protocol-acceleration";

/** What the plugin must know of the namespace. */
export type AccelerationContracts = {
  /** The newer registry of the root chain: both registries write under its address. */
  rootRegistry: Hex;
  /** The one resolver of the 3DNS names of a chain. */
  threednsResolverOf: (chainId: number) => Hex | undefined;
};

/**
 * Registers the indexing functions of the plugin `protocol-acceleration`: what is needed to resolve names from the index.
 * `isSource` tells which contract entries the configuration has; the others are left out.
 */
export function registerProtocolAcceleration(
  settings: Settings,
  { isSource, contracts }: { isSource: (source: string) => boolean; contracts: AccelerationContracts },
): void {
  const on: typeof ponder.on = (name, handler) => {
    if (isSource(name.slice(0, name.indexOf(":")))) ponder.on(name, handler);
  };
  registerRegistries(settings, on, contracts);
  registerReverseRegistrars(settings, on);
  for (const source of [`${plugin}/EarlyResolver`, `${plugin}/Resolver`] as const) {
    registerResolvers(settings, on, source);
    registerResolversOfBytes(settings, on, source);
  }
}

function registerRegistries(
  settings: Settings,
  on: typeof ponder.on,
  { rootRegistry: registry, threednsResolverOf }: AccelerationContracts,
): void {
  on(`${plugin}/ensroot/ENSv1RegistryOld:NewResolver`, ({ context, event }) =>
    setFormerRelation(scopeOf(settings, context, event), { registry, ...event.args }),
  );
  on(`${plugin}/ensroot/ENSv1Registry:NewOwner`, ({ context, event }) => {
    const { node: parentNode, label: labelhash } = event.args;
    return migrateSubname(scopeOf(settings, context, event), { registry, parentNode, labelhash });
  });
  for (const source of [
    `${plugin}/ensroot/ENSv1Registry`,
    `${plugin}/basenames/Registry`,
    `${plugin}/lineanames/Registry`,
  ] as const) {
    on(`${source}:NewResolver`, ({ context, event }) => {
      const scope = scopeOf(settings, context, event);
      return setRelation(scope, { registry: scope.emitter, ...event.args });
    });
  }
  for (const source of [
    `${plugin}/threednsOptimism/ThreeDNSToken`,
    `${plugin}/threednsBase/ThreeDNSToken`,
  ] as const) {
    on(`${source}:NewOwner`, async ({ context, event }) => {
      const scope = scopeOf(settings, context, event);
      const resolver = threednsResolverOf(scope.chainId);
      const node = subnode(event.args.node, event.args.label);
      if (resolver) await setRelation(scope, { registry: scope.emitter, node, resolver });
    });
  }
}

function registerReverseRegistrars(settings: Settings, on: typeof ponder.on): void {
  on(`${plugin}/rrRoot/DefaultReverseRegistrar:NameForAddrChanged`, ({ context, event }) => {
    const name = emittedString(event.log.data, 0, event.args.name);
    const address = event.args.addr;
    return setReverseName(scopeOf(settings, context, event), { address, coinType: defaultEvmCoinType, name });
  });
  for (const source of [
    `${plugin}/rrBase/L2ReverseRegistrar`,
    `${plugin}/rrLinea/L2ReverseRegistrar`,
    `${plugin}/rrOptimism/L2ReverseRegistrar`,
    `${plugin}/rrArbitrum/L2ReverseRegistrar`,
    `${plugin}/rrScroll/L2ReverseRegistrar`,
  ] as const) {
    on(`${source}:NameForAddrChanged`, ({ context, event }) => {
      const name = emittedString(event.log.data, 0, event.args.name);
      const address = event.args.addr;
      const coinType = coinTypeOfChain(context.chain.id);
      return setReverseName(scopeOf(settings, context, event), { address, coinType, name });
    });
  }
}

type ResolverSource = `${typeof plugin}/EarlyResolver` | `${typeof plugin}/Resolver`;
type LogWithTopics = { log: { topics: readonly (Hex | null | undefined)[] } };

// Any contract may emit these. A log whose topics do not fit the declaration is another event of the same name.
const hasTopics = ({ log }: LogWithTopics, count: number) =>
  log.topics.filter((topic) => topic !== null && topic !== undefined).length === count;

function registerResolvers(settings: Settings, on: typeof ponder.on, source: ResolverSource): void {
  on(`${source}:AddrChanged`, async ({ context, event }) => {
    if (!hasTopics(event, 2)) return;
    const { node, a: address } = event.args;
    await setAddrRecord(scopeOf(settings, context, event), { node, address });
  });
  on(`${source}:AddressChanged`, async ({ context, event }) => {
    if (!hasTopics(event, 2)) return;
    const { node, coinType, newAddress: address } = event.args;
    await setAddressRecord(scopeOf(settings, context, event), { node, coinType, address });
  });
  on(`${source}:NameChanged`, async ({ context, event }) => {
    if (!hasTopics(event, 2)) return;
    const name = emittedString(event.log.data, 0, event.args.name);
    await setNameRecord(scopeOf(settings, context, event), { node: event.args.node, name });
  });
  on(
    `${source}:TextChanged(bytes32 indexed node, string indexed indexedKey, string key)`,
    async ({ context, event }) => {
      if (!hasTopics(event, 3)) return;
      const { node } = event.args;
      const key = emittedString(event.log.data, 0, event.args.key);
      const scope = scopeOf(settings, context, event);
      const read = () =>
        context.client.readContract({
          abi: textRecordAbi,
          address: scope.emitter,
          functionName: "text",
          args: [node, key],
          retryEmptyResponse: false,
        });
      const value = await readOrUndefined(() => outlastOutage(read));
      await setTextRecord(scope, { node, key, value });
    },
  );
  on(
    `${source}:TextChanged(bytes32 indexed node, string indexed indexedKey, string key, string value)`,
    async ({ context, event }) => {
      if (!hasTopics(event, 3)) return;
      const key = emittedString(event.log.data, 0, event.args.key);
      const value = emittedString(event.log.data, 1, event.args.value);
      await setTextRecord(scopeOf(settings, context, event), { node: event.args.node, key, value });
    },
  );
  on(`${source}:VersionChanged`, async ({ context, event }) => {
    if (!hasTopics(event, 2)) return;
    const { node, newVersion: version } = event.args;
    await clearRecords(scopeOf(settings, context, event), { node, version });
  });
}

function registerResolversOfBytes(settings: Settings, on: typeof ponder.on, source: ResolverSource): void {
  on(`${source}:ContenthashChanged`, async ({ context, event }) => {
    if (hasTopics(event, 2)) await setContenthashRecord(scopeOf(settings, context, event), event.args);
  });
  on(`${source}:PubkeyChanged`, async ({ context, event }) => {
    if (hasTopics(event, 2)) await setPubkeyRecord(scopeOf(settings, context, event), event.args);
  });
  on(`${source}:ABIChanged`, async ({ context, event }) => {
    if (hasTopics(event, 3)) await addAbiContentType(scopeOf(settings, context, event), event.args);
  });
  on(`${source}:DNSZonehashChanged`, async ({ context, event }) => {
    if (hasTopics(event, 2)) await setZonehashRecord(scopeOf(settings, context, event), event.args);
  });
  const dnsEvents = [
    `${source}:DNSRecordChanged(bytes32 indexed node, bytes name, uint16 resource, bytes record)`,
    `${source}:DNSRecordChanged(bytes32 indexed node, bytes name, uint16 resource, uint32 ttl, bytes record)`,
    `${source}:DNSRecordDeleted`,
  ] as const;
  for (const name of dnsEvents) {
    on(name, async ({ context, event }) => {
      if (!hasTopics(event, 2)) return;
      const scope = scopeOf(settings, context, event);
      await setDnsTextRecord(scope, event.args.node, dnsTextRecord(event.args));
    });
  }
}
