import { normalizeLabelhash } from "../../src/ens/labels.ts";
import type { LabelFile } from "../../src/labels/label-file.ts";
import { type Answer, errorAnswer, jsonAnswer, notReady } from "./answer.ts";
import { type PinResult, pinMismatch, pinOfQuery } from "./pin.ts";

/** The specification's text for a labelhash that is missing or none. */
export const invalidLabelhash = "Invalid labelhash - must be a valid hex string";

const malformed = errorAnswer(400, invalidLabelhash);
const unknown = errorAnswer(404, "Label not found");

/** Answers `GET /v1/heal/<labelhash>`: pinned query first, then the labelhash, then the label set, then the label. */
export function createHealer() {
  const pinOf = rememberLast(pinOfQuery);

  return (file: LabelFile | undefined, labelhashText: string, query: string): Answer => {
    if (file === undefined) return notReady;
    const { pin, fault } = pinOf(query);
    if (fault !== undefined) return fault;
    const labelhash = normalizeLabelhash(decoded(labelhashText));
    if (labelhash === undefined) return malformed;
    const mismatch = pinMismatch(pin, file.facts);
    if (mismatch !== undefined) return mismatch;
    const label = file.heal(labelhash, pin.labelSetVersion ?? file.facts.highestLabelSetVersion);
    if (label === undefined) return unknown;
    return jsonAnswer(`{"status":"success","label":${JSON.stringify(label)}}`, "healed");
  };
}

/** Clients pin one label set for ever, so that the same query comes again and again. */
function rememberLast(parse: (query: string) => PinResult): (query: string) => PinResult {
  let lastQuery = "";
  let lastResult = parse(lastQuery);
  return (query) => {
    if (query !== lastQuery) {
      lastResult = parse(query);
      lastQuery = query;
    }
    return lastResult;
  };
}

function decoded(text: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
