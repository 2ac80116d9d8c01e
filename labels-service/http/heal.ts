import { normalizeLabelhash } from "../../src/ens/labels.ts";
import type { LabelFile } from "../../src/labels/label-file.ts";
import {
  type LabelSetFacts,
  type LabelSetPin,
  labelSetIdPattern,
  labelSetIdRule,
  parseLabelSetVersion,
  pinMismatch,
} from "../../src/labels/label-set.ts";
import { type Answer, errorAnswer, jsonAnswer, notReady } from "./answer.ts";

/** The specification's text for a labelhash that is missing or invalid. */
export const invalidLabelhash = "Invalid labelhash - must be a valid hex string";

const malformed = errorAnswer(400, invalidLabelhash);
const unknown = errorAnswer(404, "Label not found");

/** Answers `GET /v1/heal/<labelhash>`: pinned query first, then the labelhash, then the label set, then the label. */
export function answerHeal(file: LabelFile | undefined, labelhashText: string, query: string): Answer {
  if (file === undefined) return notReady;
  const { pin, fault } = pinOfQuery(query);
  if (fault !== undefined) return fault;
  const labelhash = normalizeLabelhash(decoded(labelhashText));
  if (labelhash === undefined) return malformed;
  const refusal = refusedPin(pin, file.facts);
  if (refusal !== undefined) return refusal;
  const label = file.heal(labelhash, pin.labelSetVersion ?? file.facts.highestLabelSetVersion);
  return label === undefined ? unknown : jsonAnswer(JSON.stringify({ status: "success", label }), "healed");
}

function decoded(text: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/** The label set that a request wants; absent parts are not restricted. */
type Pin = { [Part in keyof LabelSetPin]: LabelSetPin[Part] | undefined };

/** A pin, or the 400 that says what is wrong with it. */
type PinResult = { pin: Pin; fault?: undefined } | { pin?: undefined; fault: Answer };

/** The pin in a query string. The first of repeated parameters counts, and an empty one counts as absent. */
function pinOfQuery(query: string): PinResult {
  const parameters = new URLSearchParams(query);
  return checkedPin(parameters.get("label_set_id") ?? "", parameters.get("label_set_version") ?? "");
}

/** The pin of an id and a version as text, empty meaning absent. Checks in the order version, id, version without id. */
export function checkedPin(labelSetId: string, versionText: string): PinResult {
  const refused = (error: string): PinResult => ({ fault: errorAnswer(400, error) });
  const labelSetVersion = parseLabelSetVersion(versionText);
  if (versionText !== "" && labelSetVersion === undefined) {
    return refused("label_set_version must be a non-negative integer");
  }
  if (labelSetId !== "" && !labelSetIdPattern.test(labelSetId)) {
    return refused(`label_set_id must have ${labelSetIdRule}`);
  }
  if (labelSetVersion !== undefined && labelSetId === "") {
    return refused("label_set_id is required when label_set_version is given");
  }
  return { pin: { labelSetId: labelSetId === "" ? undefined : labelSetId, labelSetVersion } };
}

/** The 400 for a pin that the label set cannot serve; undefined if it can. */
export function refusedPin(pin: Pin, facts: LabelSetFacts): Answer | undefined {
  const mismatch = pinMismatch(pin, facts);
  if (mismatch === undefined) return undefined;
  return errorAnswer(
    400,
    mismatch === "id"
      ? `Label set id mismatch: the server holds "${facts.labelSetId}", the client requested "${pin.labelSetId}"`
      : "Requested label set version is higher than available label set version",
  );
}
