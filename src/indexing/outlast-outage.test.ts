import {
  CallExecutionError,
  ContractFunctionExecutionError,
  HttpRequestError,
  InternalRpcError,
  LimitExceededRpcError,
  MethodNotFoundRpcError,
  RpcRequestError,
  TimeoutError,
} from "viem";
import { describe, expect, test } from "vitest";
import { isOutage, outlastOutage } from "./outlast-outage.ts";

const url = "http://localhost:8545";
const http = (status?: number) =>
  new HttpRequestError({ url, ...(status === undefined ? {} : { status }), details: "failed" });
const rpc = (code: number) => new RpcRequestError({ url, body: {}, error: { code, message: "no" } });
const soon = { firstRetryMs: 1, longestRetryMs: 2 };

const inContractCall = (cause: HttpRequestError) =>
  new ContractFunctionExecutionError(new CallExecutionError(cause, {}), {
    abi: [],
    args: [],
    functionName: "uri",
  });

describe("an error", () => {
  test.each([
    ["a connection that is refused", http()],
    ["a gateway without a node behind it", http(502)],
    ["too many requests", http(429)],
    ["no answer in time", new TimeoutError({ url, body: {} })],
    ["a limit of the provider", new LimitExceededRpcError(rpc(-32005))],
    ["an outage in a contract call", inContractCall(http(503))],
  ])("is an outage: %s", (_, error) => {
    expect(isOutage(error)).toBe(true);
  });

  test.each([
    ["a method that the node does not have", new MethodNotFoundRpcError(rpc(-32601))],
    ["a node's failure", new InternalRpcError(rpc(-32603))],
    ["a method that the provider forbids", http(403)],
    ["a wrong path", http(404)],
    ["an error of another kind", new Error("shut down")],
    ["no error at all", "failed"],
  ])("is none: %s", (_, error) => {
    expect(isOutage(error)).toBe(false);
  });
});

describe("a read", () => {
  test("is repeated until a node answers", async () => {
    const failures = [http(), new TimeoutError({ url, body: {} }), http(503)];
    const read = async () => {
      const failure = failures.shift();
      if (failure) throw failure;
      return "answer";
    };
    expect(await outlastOutage(read, soon)).toBe("answer");
    expect(failures).toEqual([]);
  });

  test("is not repeated where a node answers with an error", async () => {
    let reads = 0;
    const read = async () => {
      reads++;
      throw new MethodNotFoundRpcError(rpc(-32601));
    };
    await expect(outlastOutage(read, soon)).rejects.toThrow("does not exist");
    expect(reads).toBe(1);
  });
});
