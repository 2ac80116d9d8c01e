import type { Hex } from "viem";
import type { Random } from "../random.ts";
import type { RecordChange } from "./records.ts";

/** A label of two to four syllables, sometimes with a number, that is not among those taken. */
export function newLabel(random: Random, taken: ReadonlySet<string>): string {
  for (;;) {
    const parts = Array.from({ length: 2 + random.below(3) }, () => random.pick(syllables));
    const label = random.below(4) === 0 ? `${parts.join("")}${random.below(1000)}` : parts.join("");
    if (taken.has(label) || label.length < 5) continue;
    return label;
  }
}

/** About half of the records that a name may have; its Ethereum address is the owner's. */
export function someRecords(random: Random, owner: Hex): RecordChange[] {
  const all: RecordChange[] = [
    { type: "addr", coinType: 60n, address: owner },
    { type: "addr", coinType: 0n, address: `0x0014${random.hexDigits(20)}` },
    { type: "text", key: "url", value: `https://example.org/${random.hexDigits(3)}` },
    { type: "text", key: "description", value: random.pick(descriptions) },
    { type: "text", key: "avatar", value: `ipfs://bafybei${random.hexDigits(8)}` },
    { type: "contenthash", hash: `0xe3010170122${random.hexDigits(33).slice(0, 65)}` },
  ];
  return all.filter(() => random.below(2) === 0);
}

const descriptions = [
  "Weaver of wool",
  "Keeper of bees",
  "Maker of maps",
  "🦉 up at night",
  "Sells good tea",
];
const syllables =
  "ba be bo da de do fa fe ga go ha he ja ka ke ki la le li lo ma me mi mo na ne ni no pa pe po ra re ri ro sa se si so ta te to va vi wa ya zu".split(
    " ",
  );
