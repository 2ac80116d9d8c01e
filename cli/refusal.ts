import { Refusal } from "../src/log/refusal.ts";

/** A start or command is refused as requested; the message says what to change. */
export class PreflightError extends Refusal {
  override name = "PreflightError";
}
