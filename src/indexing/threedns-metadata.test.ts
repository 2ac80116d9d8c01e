import {
  AbiDecodingDataSizeTooSmallError,
  type BaseError,
  ContractFunctionExecutionError,
  ContractFunctionRevertedError,
  ContractFunctionZeroDataError,
  type Hex,
  HttpRequestError,
  TimeoutError,
} from "viem";
import { expect, test } from "vitest";
import { threednsMetadataAbi } from "../../abis/threedns.ts";
import { labelInMetadata, readTokenUri, type UriReader } from "./threedns-metadata.ts";

const address: Hex = `0x${"3d".repeat(20)}`;
const abi = threednsMetadataAbi;
const failed = (cause: BaseError) =>
  new ContractFunctionExecutionError(cause, {
    abi,
    functionName: "uri",
    args: [5n],
    contractAddress: address,
  });
const failing = (error: Error): UriReader => ({
  readContract: async () => {
    throw error;
  },
});

test("asks the token once, at the event's block, and does not wait where the answer is empty", async () => {
  const asked: unknown[] = [];
  const client: UriReader = {
    readContract: async ({ address: to, functionName, args, retryEmptyResponse }) => {
      asked.push({ to, functionName, args, retryEmptyResponse });
      return "data:,";
    },
  };
  expect(await readTokenUri(client, { address, tokenId: 5n })).toBe("data:,");
  expect(asked).toEqual([{ to: address, functionName: "uri", args: [5n], retryEmptyResponse: false }]);
});

test.each<[string, BaseError]>([
  [
    "a revert",
    new ContractFunctionRevertedError({ abi, functionName: "uri", message: "execution reverted" }),
  ],
  ["no data", new ContractFunctionZeroDataError({ functionName: "uri" })],
  [
    "data that is no string",
    new AbiDecodingDataSizeTooSmallError({ data: "0x01", params: [{ type: "string" }], size: 1 }),
  ],
])("%s is final: there is no document", async (_, cause) => {
  expect(await readTokenUri(failing(failed(cause)), { address, tokenId: 5n })).toBeUndefined();
});

test.each<[string, Error]>([
  ["an HTTP refusal", failed(new HttpRequestError({ url: "http://localhost", status: 403 }))],
  [
    "a node's own failure, which viem calls a revert",
    failed(new ContractFunctionRevertedError({ abi, functionName: "uri", message: "internal error" })),
  ],
  ["anything else", new Error("socket hang up")],
])("%s is not taken for an answer", async (_, error) => {
  await expect(readTokenUri(failing(error), { address, tokenId: 5n })).rejects.toBe(error);
});

test.each<[string, Error]>([
  ["an overloaded node", failed(new HttpRequestError({ url: "http://localhost", status: 503 }))],
  ["a timeout", failed(new TimeoutError({ body: {}, url: "http://localhost" }))],
])("%s is waited out", async (_, error) => {
  const errors = [error];
  const client: UriReader = {
    readContract: async () => {
      const next = errors.pop();
      if (next) throw next;
      return "data:,";
    },
  };
  expect(await readTokenUri(client, { address, tokenId: 5n })).toBe("data:,");
});

const base64 = (text: string) => Buffer.from(text).toString("base64");

test.each<[string, string | undefined]>([
  [`data:application/json;base64,${base64('{"name":"jr.delv.box."}')}`, "jr"],
  [`data:application/json;_base64,${base64('{"name":"jr.delv.box."}')}`, "jr"],
  [`data:application/json;base64,${base64('{"name":"box."}')}`, "box"],
  [`data:application/json;base64,${base64('{"name":5}')}`, undefined],
  [`data:application/json;base64,${base64('["name"]')}`, undefined],
  [`data:application/json;base64,${base64("null")}`, undefined],
  ["data:application/json;base64,%%%", undefined],
  ["data:text/plain,jr", undefined],
  ["", undefined],
])("label in %j", (uri, label) => {
  expect(labelInMetadata(uri)).toBe(label);
});
