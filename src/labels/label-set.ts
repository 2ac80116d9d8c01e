/** Version of the layout of a label database file (its `user_version`); a positive integer. */
export const labelDatabaseSchemaVersion = 1;

/** What one label database holds, or one label service serves. */
export type LabelSetFacts = {
  labelSetId: string;
  /** The database holds the label sets of versions 0 to this one. */
  highestLabelSetVersion: number;
  /** Healable labels, all versions together. */
  recordsCount: number;
};

/** The label set that answers are pinned to: labels of versions 0 to `labelSetVersion`. */
export type LabelSetPin = { labelSetId: string; labelSetVersion: number };

/** What a label set id looks like. */
export const labelSetIdPattern = /^[a-z-]{1,50}$/;

/** `labelSetIdPattern` in words, for messages: "a label set id has …". */
export const labelSetIdRule = '1 to 50 characters, only a to z and "-"';

/** What a label set version looks like as text; it must also be at most 2^53 - 1. */
export const labelSetVersionPattern = /^[0-9]+$/;

/**
 * Which part of a pin a label set cannot serve: another id, or a version above its highest. Absent parts fit.
 * @example pinMismatch({ labelSetId: "subgraph", labelSetVersion: 2 }, { labelSetId: "subgraph", highestLabelSetVersion: 1 }) // "version"
 */
export function pinMismatch(
  pin: { [Part in keyof LabelSetPin]: LabelSetPin[Part] | undefined },
  facts: Omit<LabelSetFacts, "recordsCount">,
): "id" | "version" | undefined {
  if (pin.labelSetId !== undefined && pin.labelSetId !== facts.labelSetId) return "id";
  return (pin.labelSetVersion ?? 0) > facts.highestLabelSetVersion ? "version" : undefined;
}
