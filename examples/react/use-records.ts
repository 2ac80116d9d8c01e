import { use } from "react";

/** Text records of a name; null where it has none. */
export type Texts = Record<string, string | null>;

const answers = new Map<string, Promise<Texts>>();

/**
 * The text records of a name, for a component below `<Suspense>`: it waits for the answer, which is kept for a minute.
 * An error goes to the nearest error boundary.
 */
export function useTexts(indexUrl: string, name: string, keys: readonly string[]): Texts {
  const query = new URLSearchParams({ texts: keys.join(","), accelerate: "true" });
  const url = `${indexUrl}/api/resolve/records/${encodeURIComponent(name)}?${query}`;
  const answer = answers.get(url) ?? ask(url);
  answers.set(url, answer);
  return use(answer);
}

async function ask(url: string): Promise<Texts> {
  try {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`HTTP ${response.status}: ${await response.text()}`);
    const { records } = (await response.json()) as { records: { texts: Texts } };
    return records.texts;
  } finally {
    setTimeout(() => answers.delete(url), 60_000);
  }
}
