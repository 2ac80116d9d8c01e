import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { currentStatus, openEndpoints } from "../../../test/support/endpoints.ts";
import { createRecordedIndex } from "../../../test/support/ensv2/recorded-index.ts";
import { createStoredIndex } from "../../../test/support/ensv2/stored-index.ts";
import {
  chainId,
  type Moment,
  type NameCalls,
  readNameTruth,
  recordingOf,
} from "../../../test/support/name-truth/truth.ts";
import { registerProtocolAcceleration } from "../../plugins/protocol-acceleration.ts";
import { registerSubgraph } from "../../plugins/subgraph.ts";
import { createNamesSource } from "../lookup/names-query.ts";
import { placesOf } from "../lookup/places.ts";
import type { Row } from "../lookup/rows.ts";
import { knownContracts } from "../resolution/known-contracts.ts";
import { addressNames } from "./v1-addresses.ts";
import { deadlineNames } from "./v1-deadlines.ts";
import { lookup } from "./v1-lookup.ts";
import { nameDetail, subnames } from "./v1-names.ts";

// Histories of names on ENS' own contracts (test/support/name-truth): what the endpoints say of each name at each moment against
// what the contracts returned at the same block.
const truth = readNameTruth();
const { contracts } = truth;
const names = Object.keys(truth.moments[0]?.names ?? {});
const [zero, grace] = [`0x${"0".repeat(40)}`, 90 * 86_400];
const parentCannotControl = 65_536;

type Facts = Record<string, unknown>;
const some = (address: string | null | undefined) =>
  address === zero || address === null ? undefined : address;

// The rules of docs/names.md, on what calls returned.
function expectedOf({ registry, registrar: lease, wrapper }: NameCalls): Facts {
  const isHeldByWrapper = lease?.lastOwner === contracts.wrapper;
  const isWrapped =
    registry.owner === contracts.wrapper &&
    (lease === undefined || isHeldByWrapper) &&
    wrapper.lastOwner !== zero;
  const isLapsed = isWrapped && wrapper.owner === zero;
  const leaseStatus = lease && (lease.owner !== null ? "active" : lease.isAvailable ? "released" : "expired");
  const ownStatus = isLapsed ? "released" : registry.owner === zero ? "unregistered" : "active";
  const status = leaseStatus ?? ownStatus;
  const isOver = status === "released";
  const holder = lease
    ? isHeldByWrapper
      ? wrapper.owner
      : lease.lastOwner
    : isWrapped
      ? wrapper.owner
      : registry.owner;
  const isManaged = !isOver && !isLapsed && !(isWrapped && lease && status === "expired");
  const dates = lease
    ? { expires_at: String(lease.expires), grace_ends_at: String(lease.expires + grace) }
    : isWrapped && wrapper.expires !== "0"
      ? { expires_at: wrapper.expires, grace_ends_at: wrapper.expires }
      : isWrapped
        ? { expires_at: null, grace_ends_at: null, expires_at_reason: "not_set" }
        : {};
  const state =
    (wrapper.fuses & parentCannotControl) === 0 ? "wrapped" : wrapper.fuses & 1 ? "locked" : "emancipated";
  const lapsed = {
    owner: lease ? some(isHeldByWrapper ? wrapper.lastOwner : lease.lastOwner) : some(wrapper.lastOwner),
    held_through: (lease ? isHeldByWrapper : true) ? "wrapper" : "registrar",
    released_at: String(lease ? lease.expires + grace + 1 : Number(wrapper.expires) + 1),
    release_kind: "expired",
  };
  return {
    status,
    owner: isOver || isLapsed ? undefined : some(holder),
    manager: isManaged ? some(isWrapped ? wrapper.owner : registry.owner) : undefined,
    in_grace: status === "expired" ? true : undefined,
    expires_at: undefined,
    grace_ends_at: undefined,
    expires_at_reason: undefined,
    ...dates,
    lapsed_registration: isOver ? lapsed : undefined,
    authority: status === "unregistered" ? undefined : registry.isMigrated ? "ens_v1" : "ens_v0",
    resolver: some(registry.resolver),
    wrapper_state:
      status === "unregistered" || !(isWrapped || wrapper.isKnown)
        ? undefined
        : !isWrapped
          ? "unwrapped"
          : isLapsed
            ? "lapsed"
            : state,
    wrapper_fuses: isWrapped && !isLapsed ? wrapper.fuses : undefined,
    wrapper_expires_at: isWrapped ? wrapper.expires : undefined,
  };
}

function factsOf(row: Row): Facts {
  const { status, owner, manager, in_grace, expires_at, grace_ends_at, expires_at_reason, authority } = row;
  return {
    ...{ status, owner, manager, in_grace, expires_at, grace_ends_at, expires_at_reason, authority },
    lapsed_registration: row.lapsed_registration,
    resolver: row.resolver?.address,
    wrapper_state: row.ens_v1?.wrapper_state,
    wrapper_fuses: row.ens_v1?.wrapper_fuses?.fuses,
    wrapper_expires_at: row.ens_v1?.wrapper_expires_at,
  };
}

const recordsOf = ({ primary_address, records }: Row): Facts => ({
  primary_address,
  url: records?.texts["url"] ?? undefined,
});

function expectedRecords({ names }: Moment, name: string): Facts {
  const { registry, records } = names[name] as NameCalls;
  if (registry.resolver !== contracts.resolver) return { primary_address: undefined, url: undefined };
  return { primary_address: some(records.addr), url: records.url || undefined };
}

const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
const ownedOf = (rows: readonly Row[]) =>
  rows
    .filter(({ name }) => !name.endsWith(".addr.reverse"))
    .map(({ name, relations, is_primary }) => ({
      name,
      relations,
      ...(is_primary === undefined ? {} : { is_primary }),
    }));

const differencesOf = (name: string, facts: Facts, expected: Facts) =>
  Object.keys(expected).flatMap((key) =>
    JSON.stringify(facts[key]) === JSON.stringify(expected[key])
      ? []
      : `${name}: ${key} is ${JSON.stringify(facts[key])}, the contracts say ${JSON.stringify(expected[key])}`,
  );

describe.each([
  { mode: "of several chains", plugins: "subgraph,protocol-acceleration", isCompatible: false },
  { mode: "as the original subgraph", plugins: "subgraph", isCompatible: true },
])("an index $mode", ({ plugins, isCompatible }) => {
  const index = createRecordedIndex(recordingOf(truth), {
    environment: {
      NAMESPACE: "ens-test-env",
      PLUGINS: plugins,
      SUBGRAPH_COMPAT: String(isCompatible),
      LABELS_URL: "file:labels.sqlite",
      [`RPC_URL_${chainId}`]: "http://localhost",
    },
    datasources: datasources(),
    labels: truth.labels,
    register: ({ datasources }, events) => {
      registerSubgraph(events, datasources);
      if (!isCompatible) registerProtocolAcceleration(events, datasources);
    },
  });
  const seen = new Set<string>();
  let stored: Awaited<ReturnType<typeof createStoredIndex>>;
  beforeAll(async () => {
    stored = await createStoredIndex({ withEvents: true });
  });
  afterAll(() => stored.client.close());

  function open({ time }: Moment) {
    const context = {
      plugins: plugins.split(","),
      status: { current: () => currentStatus("omnichain-following", time) },
      clock: () => time * 1_000,
      lookup: {
        ...createNamesSource({
          database: stored.database,
          places: placesOf(index.config.datasources, plugins.split(",")),
          hasRecords: !isCompatible,
        }),
        hashOf: () => undefined,
        known: knownContracts(index.config.datasources),
      },
    };
    const { ask } = openEndpoints([lookup, nameDetail, addressNames, subnames, deadlineNames], context);
    return async <T>(path: string, init?: RequestInit) => (await ask(path, init)).body as { data: T };
  }

  test.each(truth.moments.map((moment) => [moment.title, moment] as const))("%s", async (_, moment) => {
    await index.playTo(moment.block);
    await stored.store(index);
    const ask = open(moment);
    for (const name of names) if (moment.names[name]?.registry.owner !== zero) seen.add(name);
    const post = <T>(inputs: object[]) =>
      ask<T[]>("/v1/lookup", { method: "POST", body: JSON.stringify({ inputs }) });
    const found = await post<{ input: { name: string }; record: Row }>([...seen].map((name) => ({ name })));
    const expected = new Map([...seen].map((name) => [name, expectedOf(moment.names[name] as NameCalls)]));
    const differences = found.data.flatMap(({ input: { name }, record }) => [
      ...differencesOf(name, factsOf(record), expected.get(name) ?? {}),
      ...(isCompatible ? [] : differencesOf(name, recordsOf(record), expectedRecords(moment, name))),
    ]);
    expect(differences).toEqual([]);
    for (const { input, record } of found.data)
      expect((await ask<Row>(`/v1/names/${input.name}`)).data).toEqual(record);

    for (const [person, claim] of Object.entries(moment.claims)) {
      const own = [...expected].flatMap(([name, { owner, manager }]) => {
        const relations = [
          ...(owner === person ? ["owner"] : []),
          ...(manager === person ? ["manager"] : []),
        ];
        const isPrimary = isCompatible ? {} : { is_primary: claim === name };
        return relations.length === 0 ? [] : [{ name, relations, ...isPrimary }];
      });
      const listed = await ask<Row[]>(`/v1/addresses/${person}/names?page_size=200`);
      expect(ownedOf(listed.data)).toEqual(own.sort(byName));
      const [lookedUp] = (await post<{ records: Row[] }>([{ address: person, page_size: 200 }])).data;
      expect(ownedOf(lookedUp?.records ?? []).sort(byName)).toEqual(own);
      const former = [...expected].flatMap(([name, { lapsed_registration }]) =>
        (lapsed_registration as Facts | undefined)?.["owner"] === person ? [name] : [],
      );
      const lost = await ask<Row[]>(`/v1/addresses/${person}/names?relation=former_owner&page_size=200`);
      expect(lost.data.map(({ name }) => name)).toEqual(former.sort());
    }

    for (const parent of ["plain.eth", "locked.eth"]) {
      const children = await ask<Row[]>(`/v1/names/${parent}/subnames?include_expired=false`);
      const active = [...seen].filter(
        (name) => name.replace(/^[^.]+\./, "") === parent && expected.get(name)?.["status"] === "active",
      );
      expect(children.data.map(({ name }) => name)).toEqual(active.sort());
    }
    const dated = [...expected].flatMap(([name, { expires_at }]) => (expires_at ? [name] : []));
    const window = await ask<Row[]>("/v1/names?namespace=ens&expires_after=1&page_size=200");
    expect(window.data.map(({ name }) => name).sort()).toEqual(dated.sort());
  });
});

function datasources(): string {
  const at = (address?: string) => ({ address: address ?? null, startBlock: 0 });
  const of = {
    ENSv1RegistryOld: at(contracts.oldRegistry),
    ENSv1Registry: at(contracts.registry),
    BaseRegistrar: at(contracts.registrar),
    LegacyEthRegistrarController: at(),
    WrappedEthRegistrarController: at(contracts.controller),
    UnwrappedEthRegistrarController: at(),
    NameWrapper: at(contracts.wrapper),
    Resolver: { startBlock: 0 },
  };
  return JSON.stringify({ "ens-test-env": { ensroot: { [chainId]: { contracts: of } } } });
}
