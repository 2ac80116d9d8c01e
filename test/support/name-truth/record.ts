import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { Hex } from "viem";
import { startTruthChain } from "./chain.ts";
import { names, people, playHistories } from "./histories.ts";
import type { Claim, Moment, NameCalls, Truth } from "./truth.ts";

// Records what ENS' contracts emit and return through the histories: test/fixtures/name-truth.json.gz. The deployments are those in
// the repository ensdomains/ens-contracts.
//   node cli/with-node.mjs test/support/name-truth/record.ts <ens-contracts>/deployments/mainnet

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("Give the folder of the deployments.");
const chain = await startTruthChain(folder);
const reverseNames = Object.values(people).map((person) => `${person.slice(2)}.addr.reverse`);
const moments: Moment[] = [];
const blocks = new Map<number, number>();
try {
  await playHistories(chain, async (title) => {
    const read: Record<string, NameCalls> = {};
    for (const name of names) read[name] = await chain.read(name);
    const claims: Record<Hex, Claim> = {};
    for (const person of Object.values(people)) claims[person] = await chain.claimOf(person);
    moments.push({ title, block: await chain.block(), time: chain.time(), names: read, claims });
  });
  const { contracts, logs } = chain;
  for (const block of new Set([...logs.map(({ block }) => block), ...moments.map(({ block }) => block)]))
    blocks.set(block, await chain.timeOf(block));
  const truth: Truth = {
    contracts,
    blocks: Array.from(blocks, ([number, timestamp]) => ({ number, timestamp })),
    logs,
    moments,
    labels: [...new Set([...names, ...reverseNames].flatMap((name) => name.split(".")))],
  };
  const path = fileURLToPath(new URL("../../fixtures/name-truth.json.gz", import.meta.url));
  writeFileSync(path, gzipSync(JSON.stringify(truth), { level: 9 }));
  console.log(`${moments.length} moments, ${names.length} names, ${logs.length} logs`);
} finally {
  await chain.close();
}
