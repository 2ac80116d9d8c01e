/** A start or command is refused as requested; the message says what to change. */
export class PreflightError extends Error {
  override name = "PreflightError";
}
