/** An error response to a JSON-RPC call (codes of JSON-RPC 2.0 and EIP-1474). */
export class RpcError extends Error {
  override name = "RpcError";
  readonly code: number;
  constructor({ code, message }: { code: number; message: string }) {
    super(message);
    this.code = code;
  }
}

/** The error for invalid parameters; `problem` says which and why. */
export function invalidParams(problem: string): RpcError {
  return new RpcError({ code: -32602, message: `invalid params: ${problem}` });
}
