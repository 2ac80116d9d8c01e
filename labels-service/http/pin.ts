import { isLabelSetId, type LabelSetFacts, parseLabelSetVersion } from "../../src/labels/label-set.ts";
import { type Answer, errorAnswer } from "./answer.ts";

/** Which label set a request wants; absent parts are not restricted. */
export type Pin = { labelSetId: string | undefined; labelSetVersion: number | undefined };

/** A pin, or the 400 that says what is wrong with it. */
export type PinResult = { pin: Pin; fault?: undefined } | { pin?: undefined; fault: Answer };

/**
 * The pin of a query string. The first of repeated parameters counts, and an empty one counts as absent; the
 * checks come in the order version, id, version without id.
 */
export function pinOfQuery(query: string): PinResult {
  const parameters = new URLSearchParams(query);
  return checkedPin(parameters.get("label_set_id") ?? "", parameters.get("label_set_version") ?? "");
}

/** As `pinOfQuery`, of texts; empty means absent. */
export function checkedPin(labelSetId: string, versionText: string): PinResult {
  const labelSetVersion = parseLabelSetVersion(versionText);
  if (versionText !== "" && labelSetVersion === undefined) {
    return refused("label_set_version must be a non-negative integer");
  }
  if (labelSetId !== "" && !isLabelSetId(labelSetId)) {
    return refused('label_set_id must have 1 to 50 characters, only a to z and "-"');
  }
  if (labelSetVersion !== undefined && labelSetId === "") {
    return refused("label_set_id is required when label_set_version is given");
  }
  return { pin: { labelSetId: labelSetId === "" ? undefined : labelSetId, labelSetVersion } };
}

/** The 400 for a pin that the label set cannot serve. */
export function pinMismatch(pin: Pin, facts: LabelSetFacts): Answer | undefined {
  if (pin.labelSetId !== undefined && pin.labelSetId !== facts.labelSetId) {
    return errorAnswer(
      400,
      `Label set id mismatch: the server holds "${facts.labelSetId}", the client requested "${pin.labelSetId}"`,
    );
  }
  if ((pin.labelSetVersion ?? 0) > facts.highestLabelSetVersion) {
    return errorAnswer(400, "Requested label set version is higher than available label set version");
  }
  return undefined;
}

function refused(error: string): PinResult {
  return { fault: errorAnswer(400, error) };
}
