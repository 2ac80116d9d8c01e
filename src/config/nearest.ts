/** Levenshtein distance. */
function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...one].entries()) {
    const next = [i + 1];
    for (const [j, otherLetter] of [...other].entries()) {
      const changed = (row[j] ?? 0) + (letter === otherLetter ? 0 : 1);
      next.push(Math.min(changed, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** The nearest of the known texts, ignoring case: at most half of the letters differ, and at most `most`. */
export function nearestOf(
  text: string,
  known: readonly string[],
  most = Number.POSITIVE_INFINITY,
): string | undefined {
  const [nearest] = known
    .map((other) => ({ other, distance: distanceOf(text.toLowerCase(), other.toLowerCase()) }))
    .filter(({ other, distance }) => distance <= Math.min(most, Math.max(text.length, other.length) / 2))
    .sort((a, b) => a.distance - b.distance);
  return nearest?.other;
}
