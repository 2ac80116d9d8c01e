import { type AbiEvent, decodeEventLog, type Hex, toEventSelector } from "viem";
import { afterAll, describe, expect, test } from "vitest";
import { baseRegistrarAbi, referralRenewalsAbi, unwrappedControllerAbi } from "../../../abis/registrars.ts";
import { chainIds } from "../../../devnet/recorded-chains.ts";
import { createActionsDatabase, insertAction, subregistries } from "../../../test/support/actions.ts";
import { currentStatus, openEndpoints } from "../../../test/support/endpoints.ts";
import { createStoredIndex } from "../../../test/support/ensv2/stored-index.ts";
import { createRecordedIndex } from "../../../test/support/recorded-index.ts";
import { datasourcesFile, recordingOf } from "../../../test/support/recordings.ts";
import { referralEditionsFrom } from "../../config/referral-editions.ts";
import { ens } from "../../deployments/ens.ts";
import { registerNames } from "../../handlers/names.ts";
import { registerRegistrars } from "../../plugins/registrars.ts";
import { openReferrals } from "../../read/events/referrals.ts";
import { referrer as one, referrers } from "./referrers.ts";

const [alice, bob, carol] = ["aa", "bb", "cc"].map((byte) => `0x${byte.repeat(20)}`) as [Hex, Hex, Hex];
const encoded = (address: Hex): Hex => `0x${address.slice(2).padStart(64, "0")}`;
const [start, day] = [1_765_400_000, 86_400];

const { client, database } = await createActionsDatabase([
  { name: "a.eth", timestamp: start, referrer: encoded(alice), price: [5, 1], duration: 100 },
  { name: "b.eth", timestamp: start + day, referrer: encoded(bob), price: [7, 0], duration: 300 },
  { name: "c.eth", timestamp: start + 2 * day, referrer: encoded(alice), duration: 150 },
  { name: "d.base.eth", timestamp: start + 3 * day, referrer: encoded(carol), price: [9, 0], duration: 250 },
  // Nobody: no referrer, zero, and no address.
  { name: "e.eth", timestamp: start, logIndex: 3, price: [3, 0] },
  { name: "f.eth", timestamp: start, logIndex: 1, referrer: encoded("0x") },
]);
afterAll(() => client.close());
// What is decoded of 32 bytes that are no address.
await insertAction(client, { name: "g.eth", timestamp: start, logIndex: 2, referrer: `0x${"f".repeat(64)}` });
await client.query("UPDATE registrar_actions SET decoded_referrer = $1 WHERE encoded_referrer = $2", [
  `0x${"0".repeat(40)}`,
  `0x${"f".repeat(64)}`,
]);

const usdc = (amount: string) => ({ currency: "USDC", amount });
const editions = referralEditionsFrom(
  "file",
  () =>
    JSON.stringify([
      {
        ...{ slug: "first", displayName: "The first" },
        rules: {
          ...{ awardModel: "pie-split", awardPool: usdc("3000000"), maxQualifiedReferrers: 10 },
          subregistryId: { chainId: 1, address: subregistries[0]?.subregistryId.split(":")[2] },
          ...{ startTime: start, endTime: start + day },
        },
      },
    ]),
  [],
);
let heads = "1";
const { ask } = openEndpoints([referrers, one], {
  plugins: ["registrars"],
  subregistries,
  status: { current: () => ({ ...currentStatus(), heads }) },
  lookup: { hashOf: () => undefined },
  referrals: openReferrals(database),
  editions,
} as never);
type RecordedLog = Record<"address" | "data" | "blockNumber" | "transactionHash", Hex> & { topics: Hex[] };
type Row = {
  rank: number | null;
  referrer: Hex;
  duration: string;
  referral_count: number;
  revenue: object[];
};
const get = async (query: string) => {
  const { status, body } = await ask(`/v1/referrers${query}`);
  expect([status, body]).toEqual([200, expect.anything()]);
  return body as { data: Row[]; page: { next_cursor: string | null; total_count: number } };
};
const ranks = async (query: string) =>
  (await get(query)).data.map(({ referrer, duration }) => [referrer, duration]);

test("referrers are ranked by the duration that they referred, of equal ones the higher address first", async () => {
  const { data, page } = await get("");
  expect(data.map(({ rank }) => rank)).toEqual([1, 2, 3]);
  expect(data).toMatchObject([
    { referrer: bob, duration: "300", referral_count: 1, revenue: [{ currency: "ETH", amount: "7" }] },
    { referrer: carol, duration: "250", referral_count: 1, revenue: [{ currency: "ETH", amount: "9" }] },
    { referrer: alice, duration: "250", referral_count: 2, revenue: [{ currency: "ETH", amount: "6" }] },
  ]);
  expect(page.total_count).toBe(3);
});

test("within a time, and of subnames of a parent", async () => {
  expect(await ranks(`?from=${start + day}`)).toEqual([
    [bob, "300"],
    [carol, "250"],
    [alice, "150"],
  ]);
  expect(await ranks(`?to=${start + day}`)).toEqual([[alice, "100"]]);
  expect(await ranks("?parent=base.eth")).toEqual([[carol, "250"]]);
  expect(await ranks("?parent=other.eth")).toEqual([]);
});

test("pages join, and ranks go on", async () => {
  const first = await get("?page_size=2");
  const second = await get(`?page_size=2&cursor=${first.page.next_cursor}`);
  expect([...first.data, ...second.data]).toEqual((await get("")).data);
  expect(second.page.next_cursor).toBeNull();
});

test("an edition ranks by its rules within its time, and awards", async () => {
  const { data } = await get("?edition=first");
  // Scores of 300 and 100 seconds; ten may qualify, so that the boosts are 1 and 8/9.
  const shares = [(300 * 2) / (300 * 2 + 100 * (17 / 9))];
  expect(data).toMatchObject([
    { referrer: bob, rank: 1, award: { qualified: true, pool_share: expect.closeTo(shares[0]!, 9) } },
    { referrer: alice, rank: 2, duration: "100", award: { qualified: true } },
  ]);
});

test("one referrer has its row, or zeros", async () => {
  const row = async (path: string) => (await ask(path)).body.data as Row;
  expect(await row(`/v1/referrers/${alice.toUpperCase().replace("0X", "0x")}`)).toEqual(
    (await get("")).data[2],
  );
  expect(await row(`/v1/referrers/0x${"de".repeat(20)}`)).toMatchObject({
    ...{ rank: null, referral_count: 0, duration: "0", revenue: [] },
  });
});

test("a ranking is kept until a block comes", async () => {
  const before = await ranks("");
  await insertAction(client, {
    name: "h.eth",
    timestamp: start + 4 * day,
    referrer: encoded(carol),
    duration: 51,
  });
  expect(await ranks("")).toEqual(before);
  heads = "2";
  expect((await ranks(""))[0]).toEqual([carol, "301"]);
});

test.each([
  ["?from=x", 400],
  ["?from=9&to=5", 400],
  ["?edition=first&from=5", 400],
  ["?edition=other", 404],
  ["?parent=a..eth", 400],
  ["?cursor=x", 400],
  ["/0x12", 400],
])("%s is refused with %s", async (query, status) => {
  expect((await ask(`/v1/referrers${query}`)).status).toBe(status);
});

describe("of a chain of the real contracts", async () => {
  const recording = recordingOf("root");
  const index = createRecordedIndex(recording, {
    environment: {
      ...{ NAMESPACE: "ens-test-env", PLUGINS: "subgraph,registrars" },
      ...Object.fromEntries(Object.values(chainIds).map((id) => [`RPC_URL_${id}`, "http://localhost"])),
    },
    datasources: datasourcesFile(),
    register: ({ datasources }, events, logs) => {
      registerNames(events, datasources, ens);
      registerRegistrars(events, datasources, logs);
    },
  });
  const emitters = Object.entries(index.config.datasources["ensroot"]?.contracts ?? {}).flatMap(
    ([name, { address }]) => (address ? [[address.toLowerCase(), name] as const] : []),
  );

  // By hand from the logs: the registrar's events move the expiry, later ones of the transaction say who referred.
  function countReferrals() {
    const abi: readonly AbiEvent[] = [...baseRegistrarAbi, ...unwrappedControllerAbi, ...referralRenewalsAbi];
    const nameOf = new Map(emitters);
    const timeOf = new Map(
      recording.blocks.map(({ number, timestamp }) => [number, BigInt(String(timestamp))]),
    );
    const expiries = new Map<bigint, bigint>();
    const actions: { duration: bigint; referrer?: string }[] = [];
    const latest = new Map<string, { duration: bigint; referrer?: string }>();
    for (const { logs } of recording.receipts as unknown as { logs: RecordedLog[] }[])
      for (const { address, topics, data, blockNumber, transactionHash } of logs) {
        const contract = nameOf.get(address.toLowerCase()) ?? "";
        if (
          !/^(BaseRegistrar|UnwrappedEthRegistrarController|UniversalRegistrarRenewalWithReferrer)$/.test(
            contract,
          )
        )
          continue;
        const found = abi.find(
          (item) =>
            toEventSelector(item) === topics[0] &&
            item.inputs.filter((one) => one.indexed).length === topics.length - 1,
        );
        if (found === undefined) continue;
        const args = decodeEventLog({ abi: [found], topics: topics as never, data })
          .args as unknown as Record<string, bigint & Hex>;
        if (contract === "BaseRegistrar") {
          if (args["id"] === undefined || args["expires"] === undefined) continue;
          const before = found.name === "NameRenewed" ? expiries.get(args["id"]) : timeOf.get(blockNumber);
          const action = { duration: args["expires"] - (before ?? 0n) };
          expiries.set(args["id"], args["expires"]);
          if (action.duration < 0n) continue;
          actions.push(action);
          latest.set(`${transactionHash} ${args["id"]}`, action);
        } else {
          const label = BigInt(args["labelhash"] ?? args["labelHash"] ?? 0);
          const action = latest.get(`${transactionHash} ${label}`);
          if (action && args["referrer"]) action.referrer = args["referrer"];
        }
      }
    const totals = new Map<string, { count: number; duration: bigint }>();
    for (const { duration, referrer = "" } of actions) {
      if (!referrer.startsWith(`0x${"0".repeat(24)}`) || BigInt(referrer) === 0n) continue;
      const key = `0x${referrer.slice(26)}`;
      const { count, duration: before } = totals.get(key) ?? { count: 0, duration: 0n };
      totals.set(key, { count: count + 1, duration: before + duration });
    }
    return totals;
  }

  test("each referral of its logs counts once", async () => {
    const stored = await createStoredIndex();
    await index.playTo(Number(recording.blocks.at(-1)?.number));
    await stored.store(index);
    const found = await openReferrals(stored.database)({}, { heads: undefined });
    expect(found.length).toBeGreaterThan(20);
    expect(new Map(found.map(({ referrer, count, duration }) => [referrer, { count, duration }]))).toEqual(
      countReferrals(),
    );
    const durations = found.map(({ duration }) => duration);
    expect(durations).toEqual(durations.toSorted((a, b) => Number(b - a)));
  });
});
