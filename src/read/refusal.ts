/** Why a read is refused. Each surface has its own status and body for it. */
export type RefusalCode = "invalid_input" | "not_found" | "unsupported" | "stale" | "overloaded";

/** A read that was asked for cannot be done. `message`: the reason, for clients. */
export class ReadError extends Error {
  override name = "ReadError";
  readonly code: RefusalCode;

  constructor(code: RefusalCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Refuses a read. */
export function refuse(code: RefusalCode, message: string): never {
  throw new ReadError(code, message);
}
