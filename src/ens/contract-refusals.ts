// A contract that cannot answer says so in many ways: a revert, no data, data of another shape, and on old compilers an
// invalid instruction. Behind a gateway (EIP-3668) the gateway's failure is one more.
const refusalTexts = /revert|invalid opcode|invalid jump|bad instruction|out of gas|stack underflow/i;
const refusalNames = new Set([
  "ContractFunctionRevertedError",
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

/** Whether an error of a contract call is the contract's own refusal to answer, and not a node that could not be asked. */
export function isContractRefusal(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (refusalNames.has(cause.name)) return true;
    const { details, code } = cause as { details?: unknown; code?: unknown };
    if (code === 3 || (typeof details === "string" && refusalTexts.test(details))) return true;
  }
  return false;
}

/** What a contract answers, or undefined if it refuses to. Throws where the node could not be asked. */
export async function readOrUndefined<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isContractRefusal(error)) return undefined;
    throw error;
  }
}
