import {
  AbiDecodingZeroDataError,
  ContractFunctionRevertedError,
  ExecutionRevertedError,
  HttpRequestError,
  RpcRequestError,
} from "viem";
import { describe, expect, test } from "vitest";
import { isContractRefusal, isRefusal } from "./contract-refusals.ts";

const rpcError = (code: number, message: string) =>
  new RpcRequestError({ body: {}, url: "http://node", error: { code, message } });

describe("a contract's refusal", () => {
  test.each<[string, Error]>([
    ["revert", new ExecutionRevertedError({})],
    ["revert by its code", rpcError(3, "whatever")],
    ["revert by its text", rpcError(-32000, "VM Exception: revert")],
    ["invalid opcode", rpcError(-32015, "invalid opcode: INVALID")],
    ["no data", new AbiDecodingZeroDataError()],
    ["wrapped", new Error("outer", { cause: new Error("inner", { cause: new ExecutionRevertedError({}) }) })],
  ])("%s", (_, error) => {
    expect(isContractRefusal(error)).toBe(true);
  });
});

describe("a node that could not be asked", () => {
  test.each<[string, Error]>([
    ["no connection", new HttpRequestError({ url: "http://node", cause: new Error("ECONNREFUSED") })],
    ["rate limit", rpcError(-32005, "limit exceeded")],
    ["anything else", new Error("out of memory")],
  ])("%s", (_, error) => {
    expect(isContractRefusal(error)).toBe(false);
  });
});

// Texts of geth (core/vm/errors.go, internal/ethapi), Erigon, Nethermind (EvmExceptionType), Besu and revm
// (HaltReason).
test.each([
  "gas uint64 overflow",
  "execution aborted (timeout = 5s)",
  "out of gas: not enough gas for reentrancy sentry",
  "invalid opcode: opcode 0xfe not defined",
  "invalid jump destination",
  "stack underflow (0 <=> 2)",
  "stack limit reached 1024 (1023)",
  "return data out of bounds",
  "max call depth exceeded",
  "write protection",
  "intrinsic gas too low: have 10000000, want 16021000 (supplied gas 10000000)",
  "BadInstruction",
  "OutOfGas",
  "INVALID_OPERATION",
  "EVM error InvalidFEOpcode",
])("a contract's failure in the words of a node: %s", (message) => {
  expect(isRefusal({ code: -32000, message })).toBe(true);
  expect(isContractRefusal(rpcError(-32000, message))).toBe(true);
});

test.each(["header not found", "missing trie node", "internal error", undefined])(
  "a node's failure: %s",
  (message) => {
    expect(isRefusal({ code: -32000, message })).toBe(false);
  },
);

test("viem calls a node's internal error a revert, which it is only if its reason says so", () => {
  const named = (message: string) =>
    new ContractFunctionRevertedError({ abi: [], functionName: "uri", message });
  expect(isContractRefusal(named("execution reverted"))).toBe(true);
  expect(isContractRefusal(named("internal error"))).toBe(false);
});
