import { checkArchive, compareWithNode, shuffled } from "../../src/archive/check.ts";
import { readManifest } from "../../src/archive/folder.ts";
import { believedOfArchive, describeLevel } from "../../src/archive/manifest.ts";
import type { IndexedChain } from "../../src/config/chains.ts";
import type { Config } from "../../src/config/environment.ts";
import { countNoun } from "../../src/log/json-log.ts";
import { requestRpc } from "../../src/ponder/rpc-request.ts";
import type { RpcRequest } from "../../src/rpc/nodes.ts";
import { isUrl } from "../command.ts";
import { about, type Finding } from "./finding.ts";

const remedy = "Correct or remove ARCHIVE, or fetch the archive again.";

/** Checks ARCHIVE for each chain: how far it is proven, and whether it contradicts itself or a node. */
export async function examineArchive({
  archive,
  chains,
}: Pick<Config, "archive" | "chains">): Promise<Finding[]> {
  if (archive === undefined) return [];
  const found = await Promise.all(
    chains.map((chain) => {
      const { ok, warning, fail } = about(`archive of ${chain.name}`);
      return describePart(archive, chain).then(
        (found) =>
          found === undefined
            ? warning("It has no data of this chain", "The index uses its RPC URLs only.")
            : ok(found),
        ({ message }: Error) => fail(`ARCHIVE cannot be used: chain ${chain.id}: ${message}`, remedy),
      );
    }),
  );
  const ids = chains.map(({ id }) => id).join(", ");
  return found.every(({ state }) => state === "warning")
    ? [about("archive").fail(`ARCHIVE cannot be used: it has none of the chains ${ids}`, remedy)]
    : found;
}

// Others may control a remote archive: some of its segments are read, and compared with a node. A folder's newest
// segment is read.
const spotChecked = { segments: 3, blocks: 5 };

/**
 * Content of an archive for a chain, in words; undefined if there is none. Throws an error if something is wrong with
 * it.
 */
async function describePart(archive: string, { id, rpc }: IndexedChain): Promise<string | undefined> {
  const manifest = await readManifest(archive, id);
  const [last, ...others] = manifest?.segments.toSorted((a, b) => b.to - a.to) ?? [];
  if (manifest === undefined || last === undefined) return undefined;
  const isRemote = isUrl(archive);
  const drawn = isRemote ? shuffled(others).slice(0, spotChecked.segments - 1) : [];
  const part = { ...manifest, segments: [last, ...drawn], results: [] };
  const found = await checkArchive({ location: archive, manifest: part, progress: () => {} });
  const samples = isRemote ? spotChecked.blocks : 0;
  let isSilent = false;
  const ask = async (request: RpcRequest): Promise<unknown> => {
    const reply = await requestRpc(rpc.http[0] ?? "", request).catch(() => undefined);
    // A node may not have the block yet.
    isSilent ||= reply?.result === undefined || reply.result === null;
    if (isSilent) throw new Error("The node does not answer");
    return reply?.result;
  };
  await compareWithNode({
    ...{ location: archive, manifest: part, found, samples, random: Math.random, ask },
  }).catch((error: unknown) => {
    if (!isSilent) throw error;
  });
  const [problem] = found.problems;
  if (problem !== undefined) throw new Error(problem);
  const logs = manifest.segments.reduce((sum, one) => sum + one.logs, 0);
  const compared = isSilent ? "nothing" : countNoun(found.compared, "block");
  const checked = isRemote ? `, ${compared} compared with the node` : "";
  const has = `${logs} logs up to block ${last.to}, ${describeLevel(manifest)}${checked}`;
  return `${has}; believed without proof: ${believedOfArchive(manifest).join("; ")}`;
}
