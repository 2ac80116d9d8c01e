import { AbiDecodingZeroDataError, ExecutionRevertedError, HttpRequestError, RpcRequestError } from "viem";
import { describe, expect, test } from "vitest";
import { isContractRefusal, readOrUndefined } from "./contract-refusals.ts";

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
  ])("%s", async (_, error) => {
    expect(isContractRefusal(error)).toBe(true);
    expect(await readOrUndefined(() => Promise.reject(error))).toBeUndefined();
  });
});

describe("a node that could not be asked", () => {
  test.each<[string, Error]>([
    ["no connection", new HttpRequestError({ url: "http://node", cause: new Error("ECONNREFUSED") })],
    ["rate limit", rpcError(-32005, "limit exceeded")],
    ["anything else", new Error("out of memory")],
  ])("%s", async (_, error) => {
    expect(isContractRefusal(error)).toBe(false);
    await expect(readOrUndefined(() => Promise.reject(error))).rejects.toBe(error);
  });
});

test("answers what the contract answers", async () => {
  expect(await readOrUndefined(async () => "x")).toBe("x");
});
