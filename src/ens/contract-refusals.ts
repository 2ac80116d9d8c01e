// A contract call fails by a revert, without data, with data of the wrong shape, or because the EVM aborts. Each node
// words an abort differently: geth, Erigon, Nethermind, Besu, reth and anvil, in this order.
const refusalTexts = new RegExp(
  [
    "revert|invalid opcode|invalid jump|out of gas|intrinsic gas|gas uint64 overflow|stack underflow|stack limit reached",
    "execution aborted|write protection|return data out of bounds|max call depth exceeded|code size exceeded",
    "bad ?instruction|OutOfGas|bad jump|StackOverflow|StackUnderflow|InvalidJump|AccessViolation",
    "invalid_operation|insufficient_gas|EVM error",
  ].join("|"),
  "i",
);
const revertCode = 3;

const refusalNames = new Set([
  "ContractFunctionZeroDataError",
  "ExecutionRevertedError",
  "AbiDecodingDataSizeTooSmallError",
  "AbiDecodingZeroDataError",
  "PositionOutOfBoundsError",
  "RecursiveReadLimitExceededError",
  "IntegerOutOfRangeError",
  "InvalidBytesBooleanError",
  "SizeOverflowError",
  "OffchainLookupSenderMismatchError",
  "OffchainLookupResponseMalformedError",
  "GatewayError",
]);

/** Whether a JSON-RPC error says that the called contract failed, and not the node. */
export function isRefusal({ code, message }: { code?: unknown; message?: unknown }): boolean {
  return code === revertCode || (typeof message === "string" && refusalTexts.test(message));
}

/** Whether an error of a contract call is the contract's own refusal, and not a node that could not be asked. */
export function isContractRefusal(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (refusalNames.has(cause.name)) return true;
    // viem reports any internal error of a node as a revert; the reason shows whether it was one.
    const { details, code, reason } = cause as { details?: unknown; code?: unknown; reason?: unknown };
    if (isRefusal({ code, message: details ?? reason })) return true;
  }
  return false;
}
