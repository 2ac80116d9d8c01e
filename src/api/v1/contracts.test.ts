import { type Hex, toEventSelector } from "viem";
import { describe, expect, test } from "vitest";
import { createStoredIndex } from "../../../test/support/ensv2/stored-index.ts";
import {
  differencesOf,
  type Entry,
  type Facts,
  openLookups,
  summariesOf,
} from "../../../test/support/lookups/lookups.ts";
import {
  chainId,
  type Moment,
  type NameCalls,
  type RecordedLog,
  readNameTruth,
  recordingOf,
} from "../../../test/support/name-truth.ts";
import { createRecordedIndex } from "../../../test/support/recorded-index.ts";
import { ens } from "../../deployments/ens.ts";
import { registerNames } from "../../handlers/names.ts";
import { registerProtocolAcceleration } from "../../plugins/protocol-acceleration.ts";
import type { NameRow } from "../../read/names/rows.ts";

// Histories of names on ENS' own contracts (test/support/name-truth.ts): what the endpoints say of each name at each
// moment against what the contracts returned at the same block.
const truth = readNameTruth();
const { contracts } = truth;
const names = Object.keys(truth.moments[0]?.names ?? {});
const [zero, grace] = [`0x${"0".repeat(40)}`, 90 * 86_400];
const parentCannotControl = 65_536;

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
    resolver: isOver ? undefined : some(registry.resolver),
    wrapper_state:
      status === "unregistered" || !(isWrapped || wrapper.isKnown)
        ? undefined
        : !isWrapped
          ? "unwrapped"
          : isLapsed
            ? "lapsed"
            : state,
    wrapper_fuses: isWrapped && !isLapsed ? wrapper.fuses : undefined,
    wrapper_expires_at: isWrapped ? (wrapper.expires === "0" ? null : wrapper.expires) : undefined,
    wrapper_expires_at_reason: isWrapped && wrapper.expires === "0" ? "not_set" : undefined,
  };
}

const factsOf = ({ ens_v1, resolver, ...row }: NameRow): Facts => ({
  ...ens_v1,
  expires_at: undefined,
  ...row,
  resolver: resolver?.address,
  wrapper_fuses: ens_v1?.wrapper_fuses?.fuses,
});

const recordsOf = ({ primary_address, records }: NameRow): Facts => ({
  primary_address,
  contenthash: records?.contenthash ?? undefined,
  bitcoin: records?.addresses["0"] ?? undefined,
  url: records?.texts["url"] ?? undefined,
});

// The subgraph's tables have no values of others than addr and contenthash. A name that nobody holds has none.
function expectedRecords({ names }: Moment, name: string, hasValues: boolean): Facts {
  const calls = names[name] as NameCalls;
  const { registry, records } = calls;
  if (registry.resolver !== contracts.resolver || expectedOf(calls)["status"] === "released")
    return recordsOf({} as NameRow);
  const filled = (bytes: string) => (bytes === "0x" ? undefined : bytes);
  return {
    primary_address: some(records.addr),
    contenthash: filled(records.contenthash),
    ...(hasValues ? { bitcoin: filled(records.bitcoin), url: records.url || undefined } : {}),
  };
}

// An account's claim, and whether the universal resolver resolves it back to the account, which values of records tell.
function expectedClaim(
  { names, claims }: Moment,
  [person, name]: [string, string],
  hasValues: boolean,
): Facts {
  const claim = claims[person as Hex];
  if (claim?.name !== name) return { is_primary: false };
  if (!hasValues) return { is_primary: true };
  // Only the resolver whose code is known tells the index.
  if (names[name]?.registry.resolver !== contracts.resolver) return { is_primary: true };
  return { is_primary: true, is_primary_verified: claim.resolvesTo === person };
}

const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
const ownedOf = (rows: readonly NameRow[]) =>
  rows
    .filter(({ name }) => !name.endsWith(".addr.reverse"))
    .map(({ name, relations, is_primary, is_primary_verified }) => ({
      ...{ name, relations, is_primary, is_primary_verified },
    }));

const lastDate = 253_402_300_799;

// What a calendar shows of the names that an account owns.
function expectedSummaries(expected: ReadonlyMap<string, Facts>, person: string): string[] {
  return [...expected].flatMap(([name, facts]) => {
    const { owner, expires_at, grace_ends_at, in_grace, wrapper_state } = facts;
    const hasEnd =
      grace_ends_at !== expires_at || wrapper_state === "emancipated" || wrapper_state === "locked";
    if (owner !== person || !expires_at || !hasEnd || Number(expires_at) > lastDate) return [];
    return [
      ...(in_grace ? [] : [`${name} expires`]),
      ...(grace_ends_at === expires_at ? [] : [`Grace period of ${name} ends`]),
    ];
  });
}

// What the contracts emitted, by the names of entries; AddrChanged is an entry only where no AddressChanged of the same
// write is.
const signatures: Readonly<Record<string, readonly [keyof typeof contracts, string][]>> = {
  NewOwner: ofRegistries("NewOwner(bytes32,bytes32,address)"),
  Transfer: ofRegistries("Transfer(bytes32,address)"),
  NewResolver: ofRegistries("NewResolver(bytes32,address)"),
  NameRegistered: [["registrar", "NameRegistered(uint256,address,uint256)"]],
  NameRenewed: [["registrar", "NameRenewed(uint256,uint256)"]],
  NameTransferred: [["registrar", "Transfer(address,address,uint256)"]],
  NameWrapped: [["wrapper", "NameWrapped(bytes32,bytes,address,uint32,uint64)"]],
  NameUnwrapped: [["wrapper", "NameUnwrapped(bytes32,address)"]],
  FusesSet: [["wrapper", "FusesSet(bytes32,uint32)"]],
  ExpiryExtended: [["wrapper", "ExpiryExtended(bytes32,uint64)"]],
  WrappedTransfer: [["wrapper", "TransferSingle(address,address,address,uint256,uint256)"]],
  MulticoinAddrChanged: [["resolver", "AddressChanged(bytes32,uint256,bytes)"]],
  NameChanged: [["resolver", "NameChanged(bytes32,string)"]],
  TextChanged: [["resolver", "TextChanged(bytes32,string,string,string)"]],
  ContenthashChanged: [["resolver", "ContenthashChanged(bytes32,bytes)"]],
};

function ofRegistries(signature: string): [keyof typeof contracts, string][] {
  return [
    ["oldRegistry", signature],
    ["registry", signature],
  ];
}

// Kind, place and emitter of each entry, as the contracts emitted them.
function emittedUntil(block: number): string[] {
  return Object.entries(signatures).flatMap(([kind, emitters]) =>
    emitters.flatMap(([contract, signature]) =>
      truth.logs
        .filter((log) => log.block <= block && log.address === contracts[contract])
        .filter(({ topics }) => topics[0] === toEventSelector(signature))
        // The first transfer of a token is its registration.
        .filter((log, position, own) => kind !== "NameTransferred" || isLater(log, own.slice(0, position)))
        .map((log) => `${kind} ${log.block} ${log.index} ${log.address}`),
    ),
  );
}

const isLater = ({ topics }: RecordedLog, before: readonly RecordedLog[]) =>
  before.some((other) => other.topics[3] === topics[3]);

// Whom the log of a transfer names: who had the token of the registrar or the wrapper, and who has it now.
function partiesOf({ kind, block_number, log_index }: Entry): Record<string, string> {
  const log = truth.logs.find(({ block, index }) => block === block_number && index === log_index);
  const parties = log?.topics.slice(1, 4).map((topic) => `0x${topic.slice(26)}`) ?? [];
  const [operator = "", from = "", to = ""] = kind === "WrappedTransfer" ? parties : ["", ...parties];
  return operator === "" ? { from, to } : { operator, from, to };
}

const shownEntry = ({ kind, block_number, log_index, contract_address }: Entry) =>
  `${kind === "ReverseNameChanged" ? "NameChanged" : kind} ${block_number} ${log_index} ${contract_address}`;

describe.each([
  { mode: "of several chains", plugins: "subgraph,protocol-acceleration", isCompatible: false },
  { mode: "as the original subgraph", plugins: "subgraph", isCompatible: true },
])("an index $mode", async ({ plugins, isCompatible }) => {
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
      registerNames(events, datasources, ens);
      if (!isCompatible) registerProtocolAcceleration(events, datasources);
    },
  });
  const seen = new Set<string>();
  const stored = await createStoredIndex({ withEvents: true });

  const open = ({ time }: Moment) =>
    openLookups({
      database: stored.database,
      datasources: index.config.datasources,
      plugins: plugins.split(","),
      time,
      hasRecords: !isCompatible,
    });

  test.each(truth.moments.map((moment) => [moment.title, moment] as const))("%s", async (_, moment) => {
    await index.playTo(moment.block);
    await stored.store(index);
    const { get, post, text, all } = open(moment);
    for (const name of names) if (moment.names[name]?.registry.owner !== zero) seen.add(name);
    const found = await post({ inputs: [...seen].map((name) => ({ name })) });
    const expected = new Map([...seen].map((name) => [name, expectedOf(moment.names[name] as NameCalls)]));
    const differences = found.data.flatMap(({ input: { name }, record }) => [
      ...differencesOf(name, factsOf(record), expected.get(name) ?? {}),
      ...differencesOf(name, recordsOf(record), expectedRecords(moment, name, !isCompatible)),
    ]);
    expect(differences).toEqual([]);
    // Each name once: the names of a moment take turns.
    const turn = truth.moments.indexOf(moment);
    const inTurn = [...seen].filter((_, at) => (at - turn) % 8 === 0);
    for (const { input, record } of found.data)
      if (inTurn.includes(input.name))
        expect((await get<NameRow>(`/v1/names/${input.name}`)).data).toEqual(record);

    for (const name of isCompatible ? [] : inTurn) {
      const keys = {
        primary_address: "addr:60",
        bitcoin: "addr:0",
        url: "text:url",
        contenthash: "contenthash",
      };
      const { data } = await get<{ records: Record<string, { decoded?: unknown }> }>(
        `/v1/names/${name}/records?keys=${Object.values(keys).join(",")}`,
      );
      const values = expectedRecords(moment, name, true);
      const byKey = Object.entries(keys).map(([member, key]) => {
        const value = values[member];
        const none =
          expected.get(name)?.["status"] === "released"
            ? { status: "unsupported", unsupported_reason: "inventory_not_available" }
            : { status: "not_found" };
        return [key, value === undefined ? none : { status: "ok", value }];
      });
      // What values stand for is nothing that contracts tell.
      const stored = Object.entries(data.records).map(([key, { decoded, ...record }]) => [key, record]);
      expect(Object.fromEntries(stored), name).toEqual(Object.fromEntries(byKey));
    }

    for (const [person, claim] of Object.entries(moment.claims)) {
      const own = [...expected].flatMap(([name, { owner, manager }]) => {
        const relations = [
          ...(owner === person ? ["owner"] : []),
          ...(manager === person ? ["manager"] : []),
        ];
        const primary = expectedClaim(moment, [person, name], !isCompatible);
        return relations.length === 0 ? [] : [{ name, relations, ...primary }];
      });
      const listed = await get<NameRow[]>(`/v1/addresses/${person}/names?page_size=200`);
      expect(ownedOf(listed.data)).toEqual(own.sort(byName));
      const [lookedUp] = (await post({ inputs: [{ address: person, page_size: 200 }] })).data;
      expect(ownedOf(lookedUp?.records ?? []).sort(byName)).toEqual(own);
      const former = [...expected].flatMap(([name, { lapsed_registration }]) =>
        (lapsed_registration as Facts | undefined)?.["owner"] === person ? [name] : [],
      );
      const lost = await get<NameRow[]>(`/v1/addresses/${person}/names?relation=former_owner&page_size=200`);
      expect(lost.data.map(({ name }) => name).sort()).toEqual(former.sort());

      const calendar = await text(`/v1/addresses/${person}/calendar.ics?namespace=ens`);
      expect(summariesOf(calendar).sort()).toEqual(expectedSummaries(expected, person).sort());

      const changes = await get<Entry[]>(
        `/v1/addresses/${person}/history?type=primary_name&include=raw,data&page_size=200`,
      );
      expect(changes.data[0]?.data["name"] ?? "", person).toBe(claim.name);
      const claimed = await get<{ answers: { name?: string }[] }>(
        `/v1/addresses/${person}/primary-name?source=indexed`,
      );
      expect(claimed.data.answers[0]?.name ?? "").toBe(claim.name);
    }

    for (const parent of ["plain.eth", "locked.eth"]) {
      const children = await get<NameRow[]>(`/v1/names/${parent}/subnames?include_expired=false`);
      // The date of a wrapped name that its parent controls may pass without an end.
      const active = [...seen].filter((name) => {
        const { status, expires_at } = expected.get(name) ?? {};
        const isPast = Number(expires_at ?? Number.POSITIVE_INFINITY) <= moment.time;
        return name.replace(/^[^.]+\./, "") === parent && status === "active" && !isPast;
      });
      expect(children.data.map(({ name }) => name)).toEqual(active.sort());
    }
    const dated = [...expected].flatMap(([name, { expires_at }]) => (expires_at ? [name] : []));
    const window = await get<NameRow[]>("/v1/names?namespace=ens&expires_after=1&page_size=200");
    expect(window.data.map(({ name }) => name).sort()).toEqual(dated.sort());

    // Entries stay: the last moment has those of all before.
    if (moment !== truth.moments.at(-1)) return;
    const emitted = emittedUntil(moment.block);
    const entries = await all<Entry>("/v1/events?include=raw,data");
    expect(entries.map(shownEntry).sort()).toEqual(emitted.sort());
    for (const entry of entries.filter(
      ({ kind }) => kind === "NameTransferred" || kind === "WrappedTransfer",
    ))
      expect(entry.data).toEqual({ action: "token_transferred", ...partiesOf(entry) });
    for (const contract of ["oldRegistry", "registry", "resolver"] as const) {
      const own = await get<Entry[]>(
        `/v1/events?contract_address=${contracts[contract]}&include=raw,data&page_size=200`,
      );
      const ofContract = emitted.filter((entry) => entry.endsWith(contracts[contract])).sort();
      expect(own.data.map(shownEntry).sort()).toEqual(ofContract);
    }
    const below = (await all<Entry>("/v1/events?parent=eth")).map(({ id }) => id);
    expect(below).toEqual(entries.flatMap(({ id, name }) => (/^[^.]+\.eth$/.test(name ?? "") ? id : [])));
    const ofNames: string[] = [];
    for (const name of seen) {
      const { data } = await get<Entry[]>(
        `/v1/names/${name}/history?exclude_type=release&include=raw,data&page_size=200`,
      );
      ofNames.push(...data.map(shownEntry));
    }
    expect(emitted).toEqual(expect.arrayContaining(ofNames));
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
  const known = { DefaultPublicResolver4: at(contracts.resolver) };
  return JSON.stringify({
    "ens-test-env": {
      ensroot: { [chainId]: { contracts: of } },
      rrRoot: { [chainId]: { contracts: known } },
    },
  });
}
