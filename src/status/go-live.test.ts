import type { Hex } from "viem";
import { afterAll, expect, test } from "vitest";
import { v2Addresses, v2ChainId } from "../../devnet/recorded-chains.ts";
import { jsonRow } from "../../test/support/create-tables.ts";
import { createTestDatabase } from "../../test/support/database.ts";
import { createV2Index } from "../../test/support/recorded-index.ts";
import { createDatabase } from "../read/sql/client.ts";
import { v2Event } from "../schema/ensv2.ts";
import { readGoLive } from "./go-live.ts";

const { ETHRegistry: ethRegistry = "0x", ETHRegistrar: registrar = "0x" } = v2Addresses as Record<
  string,
  Hex
>;
const client = await createTestDatabase("indexes");
afterAll(() => client.close());
const read = () =>
  readGoLive(
    createDatabase(client),
    { chainId: v2ChainId, ethRegistry, registrar },
    AbortSignal.timeout(30_000),
  );

let logs = 0;
const change = (block: number, more: object = {}) => {
  logs += 1;
  const row = {
    ...{ id: `e${logs}`, chain_id: v2ChainId, registry: ethRegistry, type: "RootPermissionChanged" },
    ...{
      block_number: block,
      timestamp: 1_000 + block,
      log_index: logs,
      transaction_hash: `0x${"7a".repeat(32)}`,
    },
    // The bits of CAN_REGISTER and CAN_RENEW: the first and fifth of four bits each.
    ...{ holder: registrar, roles: `0x${"10001".padStart(64, "0")}`, resource: `0x${"00".repeat(32)}` },
    ...more,
  };
  return client.query("INSERT INTO v2_events SELECT * FROM json_populate_record(NULL::v2_events, $1)", [
    JSON.stringify(jsonRow("v2_events", row)),
  ]);
};
const withoutRegister = { roles: `0x${"10000".padStart(64, "0")}` };

test("ENSv2 is live since its registrar may register names under .eth, and while it may", async () => {
  expect(await read()).toBeUndefined();
  // Neither another account, nor another registry, nor the role to renew alone.
  await change(5, { holder: ethRegistry });
  await change(6, { registry: registrar });
  await change(7, withoutRegister);
  expect(await read()).toBeUndefined();
  await change(8);
  await change(9, { roles: `0x${"1".padStart(64, "0")}` });
  expect(await read()).toEqual({ block: 8, timestamp: 1_008 });
  await change(10, withoutRegister);
  expect(await read()).toBeUndefined();
  await change(11);
  expect(await read()).toEqual({ block: 11, timestamp: 1_011 });
});

test("the recorded deployment gave the role to its registrar", async () => {
  const index = createV2Index();
  await index.playTo(350);
  const given = index.store
    .rows(v2Event)
    .filter(
      ({ type, holder, registry }) =>
        type === "RootPermissionChanged" && holder === registrar && registry === ethRegistry,
    );
  expect(given.map(({ roles }) => [String(roles).at(-1), String(roles).at(-5)])).toContainEqual(["1", "1"]);
});
