import { ens_normalize } from "@adraffy/ens-normalize";
import type { Hex } from "viem";
import { encodedLabel } from "./labels.ts";

/** Whether a label is normalised on its own (ENSIP-15). The empty label and labels with a full stop are not. */
export function isNormalizedLabel(label: string): boolean {
  if (label === "" || label.includes(".")) return false;
  try {
    return ens_normalize(label) === label;
  } catch {
    return false;
  }
}

/** The label if it is known and normalised, else `[labelhash]`: one part of an interpreted name. */
export function interpretedLabel(labelhash: Hex, label: string | undefined): string {
  return label !== undefined && isNormalizedLabel(label) ? label : encodedLabel(labelhash);
}
