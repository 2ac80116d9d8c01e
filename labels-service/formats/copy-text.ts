const backslash = 0x5c;

const controls: Record<string, number> = { b: 8, f: 12, n: 10, r: 13, t: 9, v: 11 };

/**
 * The value that the bytes from `start` to `end` stand for in PostgreSQL's COPY text format, or undefined
 * for null (`\N`) and for a lone backslash at the end.
 */
export function unescapeCopyText(bytes: Buffer, start: number, end: number): Buffer | undefined {
  const text = bytes.toString("latin1", start, end);
  if (text === "\\N") return undefined;
  const value = Buffer.allocUnsafe(end - start);
  let length = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0;
    if (byte !== backslash) {
      value[length++] = byte;
      continue;
    }
    const escaped = /^\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))/s.exec(
      text.slice(at - start, at - start + 4),
    );
    if (escaped === null) return undefined;
    const [all, octal, hex, character = ""] = escaped;
    if (octal !== undefined) value[length++] = Number.parseInt(octal, 8) & 0xff;
    else if (hex !== undefined) value[length++] = Number.parseInt(hex, 16);
    else value[length++] = controls[character] ?? character.charCodeAt(0);
    at += all.length - 1;
  }
  return value.subarray(0, length);
}
