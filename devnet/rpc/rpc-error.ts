/** A fault that a JSON-RPC call is answered with (codes of the JSON-RPC 2.0 and EIP-1474 lists). */
export class RpcError extends Error {
  override name = "RpcError";
  readonly code: number;
  constructor({ code, message }: { code: number; message: string }) {
    super(message);
    this.code = code;
  }
}

/** Parameters that a method cannot take; `problem` says which and why. */
export function invalidParams(problem: string): RpcError {
  return new RpcError({ code: -32602, message: `invalid params: ${problem}` });
}
