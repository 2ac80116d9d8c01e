import { describe, expect, test } from "vitest";
import type { ArchiveCheck } from "../src/archive/check.ts";
import { formatReport } from "./archive.ts";

describe("a check never claims more than was looked at", () => {
  const found: ArchiveCheck = {
    ...{
      segments: 2,
      blocks: 1_000,
      logs: 5_000,
      links: 0,
      empty: 0,
      emptyByBloom: 0,
      results: 0,
      problems: [],
      lacking: [],
    },
    ...{
      proof: { bloom: 0, header: 1_000, receipts: 0 },
      compared: 0,
      comparedLacking: 0,
    },
  };
  const verdict = (more: Partial<ArchiveCheck>, seed?: number) =>
    formatReport({ ...found, ...more }, seed)
      .split("\n")
      .at(-1)
      ?.trim();
  const lacking = Array.from({ length: 25 }, (_, i) => i);

  test.each<[Partial<ArchiveCheck>, number | undefined, string]>([
    [
      {},
      undefined,
      "It does not contradict itself. To compare its blocks with a node: --rpc <url> --chain <id>.",
    ],
    [
      { lacking },
      undefined,
      "It does not contradict itself, but 25 blocks may lack a log. To compare its blocks with a node: --rpc <url> --chain <id>.",
    ],
    // 1 - 0.05^(1/300) = 0.994 %
    [{ compared: 300 }, 5, "No difference: with 95 % certainty fewer than 0.99 % of the blocks are changed."],
    [{ compared: 1_000, lacking, comparedLacking: 25 }, 5, "No block differs from the node's."],
    [
      { compared: 20, lacking, comparedLacking: 20 },
      5,
      "No difference: with 95 % certainty fewer than 13.91 % of the blocks are changed. 5 blocks may lack a log: raise --samples.",
    ],
    [{ problems: ["x"] }, undefined, "This archive is wrong: fetch or record it again."],
  ])("%j, seed %s", (more, seed, words) => {
    expect(verdict(more, seed)).toBe(words);
  });
});
