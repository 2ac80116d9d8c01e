/** Version of the layout of a label database file (its `user_version`); a positive integer. */
export const labelDatabaseSchemaVersion = 1;

/** What one label database holds, or one label service serves. */
export type LabelSetFacts = {
  labelSetId: string;
  /** Label sets 0 to this version are all in the database. */
  highestLabelSetVersion: number;
  /** Healable labels, all versions together. */
  recordsCount: number;
};

/** A label set id: 1 to 50 characters, only `a` to `z` and `-`. */
export const labelSetIdPattern = /^[a-z-]{1,50}$/;

/** A label set version as text: plain decimal digits only. */
export const labelSetVersionPattern = /^[0-9]+$/;

/** Whether `text` is a label set id. */
export function isLabelSetId(text: string): boolean {
  return labelSetIdPattern.test(text);
}

/** The label set version that `text` stands for, or undefined: plain decimal digits only, at most 2^53 - 1. */
export function parseLabelSetVersion(text: string): number | undefined {
  if (!labelSetVersionPattern.test(text)) return undefined;
  const version = Number(text);
  return Number.isSafeInteger(version) ? version : undefined;
}
