import { namehash } from "./names.ts";
import { isEncodedLabel, normalizedName } from "./normalization.ts";

/** A requested name, normalized; `fault` says why it is invalid. */
export type GivenName = { name: string; node: `0x${string}` } | { fault: string };

/** Whether a text is a node, which requests may give instead of a name. */
export const isNode = (text: string) => /^0x[0-9a-f]{64}$/i.test(text);

/** Reads a name label by label: each is normalized (ENSIP-15) or `[labelhash]`. A node stands for its name. */
export function readName(given: string): GivenName {
  if (isNode(given)) return { name: given, node: given.toLowerCase() as `0x${string}` };
  if (given === "") return { fault: "the name is empty" };
  if (Buffer.byteLength(given) > 2_000) return { fault: "it has more than 2,000 bytes" };
  const labels: string[] = [];
  for (const label of given.split(".")) {
    if (isEncodedLabel(label)) {
      labels.push(label);
      continue;
    }
    const result = label === "" ? { fault: "it has an empty label" } : normalizedName(label);
    if ("fault" in result) return result;
    if (result.name.includes(".")) return { fault: "a label becomes several" };
    labels.push(result.name);
  }
  const name = labels.join(".");
  return { name, node: namehash(name) };
}
