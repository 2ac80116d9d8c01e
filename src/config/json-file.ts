/**
 * The value of a JSON file that a variable names; undefined, with the fault added to `faults`, if it cannot be read.
 * Faults quote nothing of it.
 */
export function readJsonFile(
  { variable, path }: { variable: string; path: string },
  readTextFile: (path: string) => string,
  faults: string[],
): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(readTextFile(path)) };
  } catch (error) {
    // The parser's message quotes the text, which may have secrets.
    const reason = error instanceof SyntaxError ? "it is no JSON" : (error as Error).message;
    faults.push(`${variable} "${path}" cannot be used: ${reason}.`);
    return undefined;
  }
}
