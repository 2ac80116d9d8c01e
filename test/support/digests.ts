import { concat, hexToBytes } from "viem";
import { labelhash } from "../../src/ens/labels.ts";

/** The labelhashes of `labels` as bytes, one after another, as `LabelFile.healAll` takes them. */
export function digestsOf(labels: string[]): Uint8Array {
  return hexToBytes(concat(labels.map(labelhash)));
}
