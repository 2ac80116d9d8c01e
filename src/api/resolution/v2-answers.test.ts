import { isDeepStrictEqual } from "node:util";
import { type Hex, hexToBytes, hexToString } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createV2Index } from "../../../test/support/ensv2/played-index.ts";
import { readTruth, type Snapshot } from "../../../test/support/ensv2/recording.ts";
import { createStoredIndex } from "../../../test/support/ensv2/stored-index.ts";
import { zeroAddress } from "../../ens/nodes.ts";
import { textValue } from "../../ens/record-values.ts";
import { type ChainReader, UnavailableError } from "./chain-reader.ts";
import { knownContracts } from "./known-contracts.ts";
import { type Resolution, resolveRecords } from "./resolve.ts";
import { emptySelection, type Records } from "./selection.ts";
import { createTrace } from "./trace.ts";
import { v2ContractsOf } from "./v2-names.ts";

// The recorded chain against what its Universal Resolver answered for each name, from the index alone.

type Name = Snapshot["names"][number];

let stored: Awaited<ReturnType<typeof createStoredIndex>>;
const index = createV2Index();
beforeAll(async () => {
  stored = await createStoredIndex();
});
afterAll(() => stored.client.close());

const noChain = () => Promise.reject(new UnavailableError("There is no chain here."));
const reader: ChainReader = { read: noChain, findResolver: noChain };
const { tracer } = createTrace(Date.now);
const coinType = 0x80000001n;
const selection = {
  ...emptySelection(),
  addresses: [60n, coinType],
  texts: ["description", "avatar"],
  contenthash: true,
};

// Where only the chain can tell.
async function answersOf({ name }: Pick<Name, "name">, time: number): Promise<Records | "ask the chain"> {
  const contracts = v2ContractsOf(index.config.datasources);
  const resolution: Resolution = {
    known: knownContracts(index.config.datasources),
    reader,
    database: stored.database,
    signal: new AbortController().signal,
    ensv2: contracts && { contracts, time },
  };
  try {
    return await resolveRecords(resolution, { name, selection }, tracer);
  } catch (error) {
    if (error instanceof UnavailableError) return "ask the chain";
    throw error;
  }
}

const isText = (raw: Hex) => Buffer.from(hexToString(raw)).equals(Buffer.from(hexToBytes(raw)));
const set = (value: Hex | null) => (value === null || /^0x0*$/.test(value) ? null : value);
// A text with a NUL counts as unset; see docs/compatibility.md.
const textOf = (value: Hex | null) => (set(value) === null ? null : textValue(hexToString(value ?? "0x")));

function expectedOf({ answers }: Name): Records {
  return {
    addresses: { 60: set(answers.addr), [String(coinType)]: set(answers.coin80000001) },
    texts: { description: textOf(answers.description), avatar: textOf(answers.avatar) },
    contenthash: set(answers.contenthash),
  };
}

// Names in hostile registries, and those of a resolver that no event explains.
function isUnsure({ registries }: Snapshot, { registry, name }: Name): boolean {
  return (registry !== null && registries[registry]?.hostile === true) || name === "evilres.eth";
}

const blocks = [200, 500, 879];

describe.each(readTruth().filter(({ block }) => blocks.includes(block)))("at block $block", (snapshot) => {
  beforeAll(async () => {
    await index.playTo(snapshot.block);
    await stored.store(index);
  });

  test("every name with a resolver has the answers of the chain", async () => {
    const readable = snapshot.names.filter(
      (name) =>
        !isUnsure(snapshot, name) &&
        name.resolver?.address !== zeroAddress &&
        name.labels.every((raw) => isText(raw) && !hexToString(raw).includes(".")),
    );
    const differences: string[] = [];
    for (const one of readable) {
      const name = one.labels.map((raw) => hexToString(raw)).join(".");
      const found = await answersOf({ name }, snapshot.timestamp);
      // The chain's answer is an error; without the chain it is unset, or unknown.
      const isError = Object.values(one.answers).every((answer) => answer === null);
      const isEqual = isDeepStrictEqual(found, expectedOf(one)) || (isError && found === "ask the chain");
      if (!isEqual) differences.push(`${name} ${JSON.stringify(found)} ${JSON.stringify(expectedOf(one))}`);
    }
    expect(differences).toEqual([]);
  });
});
