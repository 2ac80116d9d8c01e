/** Lengths of labels that are expensive in a batch; each consists of the letter x. */
export const longLabelLengths = [100_000, 1_000_000, 15_000_000] as const;

/** The labels of those lengths. */
export const longLabels = (): string[] => longLabelLengths.map((length) => "x".repeat(length));
