/**
 * The text with every control and formatting character, line separator and lone surrogate as `\u…`, so that
 * a label or a path cannot forge a line of log or turn a terminal's text around.
 */
export function escapeControls(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (character) =>
    [...Array(character.length).keys()]
      .map((i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}
