import { distance as distanceOf } from "fastest-levenshtein";

/** The nearest of the known texts, ignoring case: at most half of the letters differ, and at most `max`. */
export function findNearest(
  text: string,
  known: readonly string[],
  max = Number.POSITIVE_INFINITY,
): string | undefined {
  const [nearest] = known
    .map((other) => ({ other, distance: distanceOf(text.toLowerCase(), other.toLowerCase()) }))
    .filter(({ other, distance }) => distance <= Math.min(max, Math.max(text.length, other.length) / 2))
    .sort((a, b) => a.distance - b.distance);
  return nearest?.other;
}
