import {
  concatHex,
  encodeAbiParameters,
  encodeErrorResult,
  encodeFunctionData,
  type Hex,
  numberToHex,
  parseAbi,
  size,
} from "viem";
import { emitter } from "../../support/anvil.ts";

// EVM code of contracts that emit logs as the tests' anvil expects, and that each fail in their own way in every call.
// Needs PUSH0 (Shanghai).

// Call data that begins with 05 to fe continues below; all other is delegated to the emitter's code.
const head = concatHex(["0x5f3560f81c6005900360fa11602f57365f5f375f5f365f73", emitter, "0x5af4005b"]);
const endingSize = 15;

/** Code whose calls end as `end` says, which begins at byte 0x30. */
const failing = (end: Hex): Hex => concatHex([head, end]);

/** Code whose calls end with this data, filled up with zeros to `length` bytes. */
function ending(how: "revert" | "return", data: Hex, length = size(data)): Hex {
  const bytes = (value: number, digits: number) => numberToHex(value, { size: digits });
  // Copies the data after the code to memory.
  const copy = concatHex(["0x62", bytes(size(data), 3), "0x61", bytes(size(head) + endingSize, 2), "0x5f39"]);
  const end = concatHex(["0x62", bytes(length, 3), "0x5f", how === "revert" ? "0xfd" : "0xf3"]);
  return failing(concatHex([copy, end, data]));
}

const lookupAbi = parseAbi([
  "error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData)",
  "error Error(string reason)",
]);
const batchAbi = parseAbi(["function query((address sender, string[] urls, bytes data)[] queries)"]);

function lookingUp(self: Hex, urls: string[], callData: Hex): Hex {
  const args = [self, urls, callData, "0x59d1d43c", "0x"] as const;
  return ending("revert", encodeErrorResult({ abi: lookupAbi, errorName: "OffchainLookup", args }));
}

const megabyte = 1 << 20;

/**
 * Ways in which calls of a contract at `self` can fail, by name; `internalUrl` is an address that only the indexer's
 * machine reaches.
 */
export const hostileCode: Record<string, (self: Hex, internalUrl: string) => Hex> = {
  "the invalid instruction": () => failing("0xfe"),
  "an instruction that does not exist": () => failing("0x0c"),
  "a loop until the gas is gone": () => failing("0x5b603056"),
  "a stack that grows until it is full": () => failing("0x5b5f603056"),
  "memory at the end of the address space": () =>
    failing(concatHex(["0x5f7f", `0x${"ff".repeat(32)}`, "0x52"])),
  "a reason of a megabyte": () => {
    const reason = encodeErrorResult({ abi: lookupAbi, errorName: "Error", args: ["x".repeat(40)] });
    return ending("revert", reason, megabyte);
  },
  "two megabytes of return data": () => ending("return", "0x20", 2 * megabyte),
  "data that is not a text": () => ending("return", "0x01"),
  "a text with an impossible length": () =>
    ending("return", encodeAbiParameters([{ type: "uint256" }, { type: "uint256" }], [32n, 2n ** 200n])),
  "a lookup at an internal address": (self, url) => lookingUp(self, [`${url}/read?q={data}`], "0xdeadbeef"),
  "a lookup posted to an internal address": (self, url) => lookingUp(self, [`${url}/write`], "0xdeadbeef"),
  "lookups without end": (self) =>
    lookingUp(
      self,
      ["x-batch-gateway:true"],
      encodeFunctionData({ abi: batchAbi, functionName: "query", args: [[]] }),
    ),
};

/** Code that returns this text for every call. */
export const honestCode = (value: string): Hex =>
  ending("return", encodeAbiParameters([{ type: "string" }], [value]));
