import { z } from "zod/v4";
import { isEncodedLabel, nodeOfName, normalizedName } from "../../ens/names.ts";

/** A normalised name (ENSIP-15). The refusal of another one tells its normalised form, or the node of one with `[labelhash]`. */
export function nameParameter(name: string) {
  return z
    .string({ error: `${name} must be given once` })
    .superRefine((text, context) => {
      const fault = faultOf(name, text);
      if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
    })
    .meta({ example: "moonlamp.eth" });
}

function faultOf(field: string, name: string): string | undefined {
  const result = normalizedName(name);
  if ("name" in result) {
    if (result.name === name) return undefined;
    return `${field} must be normalized (ENSIP-15): write ${JSON.stringify(result.name)} instead`;
  }
  if (name.split(".").some(isEncodedLabel)) {
    return `${field} must not hold labels in the form [labelhash]; the node of this name is ${nodeOfName(name)}`;
  }
  return `${field} is no name that can be normalized (ENSIP-15): ${result.fault}`;
}
