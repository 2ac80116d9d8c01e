/** A checkpoint as Ponder writes it: of a log in a block, or of a block whose events are all processed. */
export function checkpointOf(
  { number, timestamp, logIndex }: { number: number; timestamp: number; logIndex?: number },
  chainId = 1,
): string {
  const pad = (value: number, digits: number) => String(value).padStart(digits, "0");
  const place = logIndex === undefined ? "9".repeat(33) : `${pad(0, 16)}5${pad(logIndex, 16)}`;
  return `${pad(timestamp, 10)}${pad(chainId, 16)}${pad(number, 16)}${place}`;
}
