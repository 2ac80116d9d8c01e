import { type AbiEvent, decodeEventLog, type Hex, toEventSelector } from "viem";
import { expect, test } from "vitest";
import { proxyFactoryAbi, registryV2Abi, resolverV2Abi } from "../../abis/ensv2.ts";
import { v2Addresses, v2Folder } from "../../devnet/recorded-chains.ts";
import { readRecording } from "../../devnet/recording.ts";
import { entryDifferences } from "../../test/support/ensv2/differences.ts";
import { readTruth } from "../../test/support/ensv2/recording.ts";
import { createV2Index, type PlayedLog } from "../../test/support/recorded-index.ts";
import { tokenIdToHex } from "../ens/ids.ts";
import { v2Contract, v2Event, v2RecordLink } from "../schema/ensv2.ts";

// The recorded chain against what calls said of each registry that could be reached from the root, at twenty blocks.

test("entries, tokens, resources and roles are what the registries say, at each block", async () => {
  const index = createV2Index();
  for (const snapshot of readTruth()) {
    await index.playTo(snapshot.block);
    expect(entryDifferences(index, snapshot)).toEqual([]);
  }
});

const times = new Map(
  readRecording(v2Folder).blocks.map(({ number, timestamp }) => [Number(number), Number(timestamp)]),
);
const placeOf = ({ blockNumber, transactionHash }: PlayedLog) => ({
  ...{ blockNumber: Number(blockNumber), timestamp: times.get(Number(blockNumber)), transactionHash },
});

test("proxies, links and roles of resolvers have the positions of their logs", async () => {
  const index = createV2Index();
  await index.playTo(879);
  const logsOf = (abi: readonly AbiEvent[], eventName: string) => {
    const named = abi.filter(({ name }) => name === eventName);
    const selectors = new Set<string>(named.map((item) => toEventSelector(item)));
    return index.logs.flatMap((log) => {
      if (!selectors.has(log.topics[0] ?? "")) return [];
      try {
        const event = decodeEventLog({ abi: named, topics: log.topics as [Hex, ...Hex[]], data: log.data });
        return [{ log, args: event.args as Record<string, unknown> }];
      } catch {
        return [];
      }
    });
  };
  const address = (value: unknown) => String(value).toLowerCase();

  const deployed = logsOf(proxyFactoryAbi, "ProxyDeployed").filter(
    ({ log }) => log.address === v2Addresses["VerifiableFactory"],
  );
  expect(deployed.length).toBeGreaterThan(20);
  const contracts = new Map(index.store.rows(v2Contract).map((row) => [row["address"], row]));
  for (const { log, args } of deployed)
    expect(contracts.get(address(args["proxyAddress"]))).toMatchObject(placeOf(log));

  const links = new Map(
    logsOf(resolverV2Abi, "Linked").map(({ log, args }) => [`${log.address} ${args["node"]}`, log]),
  );
  const stored = index.store.rows(v2RecordLink);
  expect(stored.length).toBeGreaterThan(2);
  for (const row of stored) {
    const log = links.get(`${row["resolver"]} ${row["node"]}`);
    expect(row).toMatchObject(log ? { ...placeOf(log), logIndex: Number(log.logIndex) } : {});
    expect(log).toBeDefined();
  }

  const codes = ["PermissionedResolverImpl", "RecordResolverImpl"].map((name) => v2Addresses[name]);
  const resolvers = new Set(
    deployed
      .filter(({ args }) => codes.includes(address(args["implementation"]) as Hex))
      .map(({ args }) => address(args["proxyAddress"])),
  );
  const changes = logsOf(registryV2Abi, "EACRolesChanged").filter(({ log }) => resolvers.has(log.address));
  const events = index.store.rows(v2Event).filter(({ type }) => type === "ResolverPermissionChanged");
  expect(new Set(changes.map(({ log }) => log.address)).size).toBeGreaterThan(5);
  expect(events).toMatchObject(
    changes.map(({ log, args }) => ({
      ...placeOf(log),
      ...{
        registry: log.address,
        labelhash: null,
        logIndex: Number(log.logIndex),
        holder: address(args["account"]),
      },
      resource: tokenIdToHex(args["resource"] as bigint),
      roles: tokenIdToHex(args["newRoleBitmap"] as bigint),
      formerRoles: tokenIdToHex(args["oldRoleBitmap"] as bigint),
    })),
  );
});
