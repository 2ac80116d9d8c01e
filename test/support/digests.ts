import { concat, hexToBytes } from "viem";
import { labelhash } from "../../src/ens/labels.ts";
import type { LabelFile } from "../../src/labels/label-file.ts";

/** The labelhashes of `labels` as bytes, one after another, as `LabelFile.healAll` takes them. */
export function digestsOf(labels: string[]): Uint8Array {
  return hexToBytes(concat(labels.map(labelhash)));
}

/** The labels of a file whose labelhashes those of `labels` are, looked up together. */
export function healAll(file: LabelFile, labels: string[], highestVersion: number) {
  const places = Uint32Array.from(labels.keys());
  return file.healAll(digestsOf(labels), highestVersion, { places, longest: 2 ** 31 });
}
