/** Schema version of a label database file (its `user_version`); a positive integer. */
export const labelDatabaseSchemaVersion = 1;

/** Facts of the label set in a database or behind a service. */
export type LabelSetFacts = {
  labelSetId: string;
  highestLabelSetVersion: number;
  /** Healable labels of all versions together. */
  recordsCount: number;
};

/** The label set that responses are pinned to: versions 0 to `labelSetVersion`. */
export type LabelSetPin = { labelSetId: string; labelSetVersion: number };

/** Form of a label set id. */
export const labelSetIdPattern = /^[a-z-]{1,50}$/;

/** `labelSetIdPattern` in words, for messages: "a label set id has …". */
export const labelSetIdRule = '1 to 50 characters, only a to z and "-"';

/** Form of a label set version as text, which is also at most 2^53 - 1. */
export const labelSetVersionPattern = /^[0-9]+$/;

/**
 * The part of a pin that a label set cannot serve: another id, or a version above its highest. Absent parts fit.
 * @example pinMismatch({ labelSetId: "subgraph", labelSetVersion: 2 }, { labelSetId: "subgraph", highestLabelSetVersion: 1 }) // "version"
 */
export function pinMismatch(
  pin: { [Part in keyof LabelSetPin]: LabelSetPin[Part] | undefined },
  facts: Omit<LabelSetFacts, "recordsCount">,
): "id" | "version" | undefined {
  if (pin.labelSetId !== undefined && pin.labelSetId !== facts.labelSetId) return "id";
  return (pin.labelSetVersion ?? 0) > facts.highestLabelSetVersion ? "version" : undefined;
}
