import { hexToBytes } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createV2Index } from "../../../test/support/ensv2/played-index.ts";
import { readTruth, type Snapshot } from "../../../test/support/ensv2/recording.ts";
import { createStoredIndex } from "../../../test/support/ensv2/stored-index.ts";
import { keccak256 } from "../../ens/keccak.ts";
import { pathOf, readV2Names, type V2Name, v2ContractsOf } from "./v2-names.ts";

// The recorded chain against what calls said of each name, at twenty blocks.

let stored: Awaited<ReturnType<typeof createStoredIndex>>;
beforeAll(async () => {
  stored = await createStoredIndex();
});
afterAll(() => stored.client.close());

const index = createV2Index();
const contracts = v2ContractsOf(index.config.datasources);
const signal = new AbortController().signal;
const hashesOf = (labels: Snapshot["names"][number]["labels"]) =>
  labels.map((raw) => keccak256(hexToBytes(raw)));

function readNames({ timestamp: time }: Snapshot, labels: Snapshot["names"][number]["labels"][]) {
  if (contracts === undefined) throw new Error("The namespace has no ENSv2.");
  const paths = labels.map((one) => pathOf(hashesOf(one)));
  return readV2Names(stored.database, contracts, { paths, time, hasV1: true }, signal);
}

// Where the walk stopped, as an offset into the DNS name.
function offsetOf({ labels }: Snapshot["names"][number], level: number): number {
  return labels.slice(0, labels.length - level).reduce((sum, raw) => sum + 1 + hexToBytes(raw).length, 0);
}

// The registry that holds the name says itself that it is at the place above the name.
function isCanonical({ registries }: Snapshot, { registry, labels }: Snapshot["names"][number]): boolean {
  const above = labels
    .slice(1)
    .map((raw) => `${(raw.length / 2 - 1).toString(16).padStart(2, "0")}${raw.slice(2)}`);
  return registry !== null && registries[registry]?.canonicalName === `0x${above.join("")}00`;
}

const statuses = ["available", "reserved", "registered"];

function nameDifferences(snapshot: Snapshot, names: V2Name[]): string[] {
  const hostile = new Set(
    Object.entries(snapshot.registries).flatMap(([address, one]) => (one.hostile ? [address] : [])),
  );
  return snapshot.names.flatMap((expected, place) => {
    const found = names[place];
    if (found === undefined || (found.registry !== null && hostile.has(found.registry))) return [];
    const given = {
      owner: expected.owner,
      resolver: expected.resolver?.address,
      offset: expected.resolver?.offset,
      subregistry: expected.subregistry,
      status: expected.exists ?? 0,
      isCanonical: isCanonical(snapshot, expected),
    };
    const read = {
      owner: found.owner,
      resolver: found.resolver,
      offset: offsetOf(expected, found.resolverLevel),
      subregistry: found.subregistry,
      status: expected.registry === null ? 0 : statuses.indexOf(found.entry?.status ?? "available"),
      isCanonical: expected.registry !== null && found.isCanonical,
    };
    return JSON.stringify(given) === JSON.stringify(read)
      ? []
      : [`${snapshot.block} ${expected.name} ${JSON.stringify(given)} ${JSON.stringify(read)}`];
  });
}

describe.each(readTruth())("at block $block", (snapshot) => {
  beforeAll(async () => {
    await index.playTo(snapshot.block);
    await stored.store(index);
  });

  test("owner, resolver and registry of each name", async () => {
    const labels = snapshot.names.map((name) => name.labels);
    expect(nameDifferences(snapshot, await readNames(snapshot, labels))).toEqual([]);
  });

  test("the generation in force for each .eth name", async () => {
    const found = await readNames(
      snapshot,
      snapshot.authority.map(({ raw }) => [raw, "0x657468"]),
    );
    expect(found.map(({ authority }) => authority)).toEqual(
      snapshot.authority.map(({ authority }) => authority),
    );
  });
});
