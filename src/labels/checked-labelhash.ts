import type { Hex } from "viem";
import { normalizeLabelhash } from "../ens/labels.ts";

/** The labelhash in its one form. Throws a `TypeError` if `text` is none: no label source was asked then. */
export function checkedLabelhash(text: string): Hex {
  const labelhash = normalizeLabelhash(text);
  if (labelhash === undefined) throw new TypeError(`${JSON.stringify(text)} is not a labelhash.`);
  return labelhash;
}
