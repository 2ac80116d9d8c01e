import { normalizeLabelhash } from "../../src/ens/labels.ts";
import { HttpError } from "../../src/http/error.ts";
import type { LabelFile } from "../../src/labels/label-file.ts";
import {
  type LabelSetFacts,
  type LabelSetPin,
  labelSetIdPattern,
  labelSetIdRule,
  labelSetVersionPattern,
  pinMismatch,
} from "../../src/labels/label-set.ts";
import { type Answer, createErrorAnswer, createJsonAnswer, notReady } from "./answer.ts";

/** The specification's message for a missing or invalid labelhash. */
export const invalidLabelhash = "Invalid labelhash - must be a valid hex string";

const malformed = createErrorAnswer(400, invalidLabelhash);
const unknown = createErrorAnswer(404, "Label not found");

/** Answers `GET /v1/heal/<labelhash>`. Checks the pin's form first, then the labelhash, then the label set. */
export function answerHeal(file: LabelFile | undefined, labelhashText: string, query: string): Answer {
  if (file === undefined) return notReady;
  // The first of repeated parameters counts, and an empty one counts as absent.
  const parameters = new URLSearchParams(query);
  const pin = parsePin(parameters.get("label_set_id") ?? "", parameters.get("label_set_version") ?? "");
  const labelhash = normalizeLabelhash(decodeText(labelhashText));
  if (labelhash === undefined) return malformed;
  checkPin(pin, file.facts);
  const label = file.heal(labelhash, pin.labelSetVersion ?? file.facts.highestLabelSetVersion);
  return label === undefined
    ? unknown
    : createJsonAnswer(JSON.stringify({ status: "success", label }), "healed");
}

function decodeText(text: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/** The label set that a request wants. Absent parts are unrestricted. */
type Pin = { [Part in keyof LabelSetPin]: LabelSetPin[Part] | undefined };

/**
 * The pin of an id and a version as text, empty meaning absent. Throws an HttpError 400, in the order version, id,
 * version without id.
 */
export function parsePin(labelSetId: string, versionText: string): Pin {
  const labelSetVersion = versionText === "" ? undefined : Number(versionText);
  const isVersion = labelSetVersionPattern.test(versionText) && Number.isSafeInteger(labelSetVersion);
  if (versionText !== "" && !isVersion)
    throw new HttpError(400, "label_set_version must be a non-negative integer");
  if (labelSetId !== "" && !labelSetIdPattern.test(labelSetId))
    throw new HttpError(400, `label_set_id must have ${labelSetIdRule}`);
  if (labelSetVersion !== undefined && labelSetId === "")
    throw new HttpError(400, "label_set_id is required when label_set_version is given");
  return { labelSetId: labelSetId === "" ? undefined : labelSetId, labelSetVersion };
}

/** Throws an HttpError 400 for a pin that the label set cannot serve. */
export function checkPin(pin: Pin, facts: LabelSetFacts): void {
  const mismatch = pinMismatch(pin, facts);
  if (mismatch === undefined) return;
  throw new HttpError(
    400,
    mismatch === "id"
      ? `Label set id mismatch: the server holds "${facts.labelSetId}", the client requested "${pin.labelSetId}"`
      : "Requested label set version is higher than available label set version",
  );
}
