import { type Abi, decodeEventLog, type Hex } from "viem";
import { describe, expect, test } from "vitest";
import { basenamesControllerAbi, lineaControllerAbi, unwrappedControllerAbi } from "../abis/registrars.ts";
import type { EmittedLog } from "./events.ts";
import { readDeployment, register, renew } from "./life.ts";
import { recordingFolder } from "./recorded-chains.ts";
import { readRecording } from "./recording.ts";

type Args = Record<"label" | "name", string> & { owner?: Hex; expires: bigint; referrer?: Hex } & Partial<
    Record<"cost" | "baseCost" | "premium", bigint>
  >;

describe.each([
  ["root", unwrappedControllerAbi],
  ["base", basenamesControllerAbi],
  ["linea", lineaControllerAbi],
] as const)("on the chain %s", (chain, abi) => {
  const deployment = readDeployment(chain);
  const { controller, registrar, registry, resolver } = deployment;
  const receipts = readRecording(recordingFolder(chain)).receipts;
  const recorded = receipts.map(({ logs }) =>
    (logs as EmittedLog[]).map(({ address, topics, data }) => ({ address, topics, data })),
  );

  const set = (logs: readonly EmittedLog[]): Hex => {
    const found = logs.find(({ topics }) => topics[0]?.startsWith("0x335721b0"));
    return found ? `0x${found.data.slice(26)}` : resolver;
  };

  test("sales emit what the recorded contracts emitted, in their order", () => {
    const seen = new Set<string>();
    const some = { label: "some", owner: controller, expires: 0n };
    const known = [register, renew].map((sell) => sell(deployment, some).logs.at(-1)?.topics[0]);
    for (const logs of recorded) {
      const last = logs.at(-1);
      if (last?.address !== controller || !known.includes(last.topics[0])) continue;
      const topics = last.topics as [Hex, ...Hex[]];
      const { eventName, args } = decodeEventLog({ abi: abi as Abi, topics, data: last.data });
      const sold = args as unknown as Args;
      const { owner = controller, cost = sold.baseCost ?? 0n, premium = 0n, referrer = "0x0" } = sold;
      if (BigInt(referrer) + premium !== 0n) continue;
      const sale = { label: sold.name ?? sold.label, owner, expires: sold.expires, cost };
      const own = (eventName === "NameRenewed" ? renew : register)(
        { ...deployment, resolver: set(logs) },
        sale,
      ).logs;
      // Without what depends on resolver and records, where the token is the buyer's at once.
      const ofSale = (all: EmittedLog[]) =>
        all.filter(
          (log) =>
            [registrar, registry, controller].includes(log.address) &&
            !/^0x(335721b0|69ce3863)/.test(log.topics[0]!),
        );
      if (JSON.stringify(logs[0]) !== JSON.stringify(own[0]) || ofSale(logs).length > 5) continue;
      seen.add(String(eventName));
      expect(ofSale(own)).toEqual(ofSale(logs));
    }
    expect([...seen].sort()).toEqual(["NameRegistered", "NameRenewed"]);
  });
});
