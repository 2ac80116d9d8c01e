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
export function isLabelSetId(text: string): boolean {
  return /^[a-z-]{1,50}$/.test(text);
}

/** The label set version that `text` stands for, or undefined: plain decimal digits only, at most 2^53 - 1. */
export function parseLabelSetVersion(text: string): number | undefined {
  if (!/^[0-9]+$/.test(text)) return undefined;
  const version = Number(text);
  return Number.isSafeInteger(version) ? version : undefined;
}
