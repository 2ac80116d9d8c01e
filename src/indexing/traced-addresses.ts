const mostAddresses = 25_000;

/**
 * The first 25,000 addresses in a receipt or call trace, as 40 lower-case digits: plain ones, and 32-byte words that can be
 * one. Takes any depth and any number of calls.
 */
export function addressesIn(trace: unknown): Set<string> {
  const found = new Set<string>();
  const pending: unknown[] = [trace];
  while (pending.length > 0 && found.size < mostAddresses) {
    const value = pending.pop();
    if (typeof value === "string") addAddresses(value, found);
    else if (typeof value === "object" && value !== null) {
      for (const part of Object.values(value)) pending.push(part);
    }
  }
  return found;
}

const selectorDigits = 8;
const wordDigits = 64;
const paddingDigits = "0".repeat(24);

function addAddresses(text: string, found: Set<string>): void {
  if (!/^0x[0-9a-fA-F]*$/.test(text)) return;
  const digits = text.slice(2).toLowerCase();
  if (digits.length === 40) found.add(digits);
  // Call data has a selector before its words, return data does not.
  const start = digits.length % wordDigits === selectorDigits ? selectorDigits : 0;
  for (let i = start; i + wordDigits <= digits.length && found.size < mostAddresses; i += wordDigits) {
    if (digits.startsWith(paddingDigits, i))
      found.add(digits.slice(i + paddingDigits.length, i + wordDigits));
  }
}
