import { encodeFunctionData, type Hex } from "viem";
import {
  entryPoint06Abi,
  entryPoint06Address,
  entryPoint07Abi,
  entryPoint07Address,
} from "viem/account-abstraction";
import { expect, test } from "vitest";
import { actingAccount } from "./user-operations.ts";

const addressOf = (byte: string): Hex => `0x${byte.repeat(20)}`;
const [bundler, alice, bob] = [addressOf("b0"), addressOf("aa"), addressOf("bb")];
const [word, none]: Hex[] = [`0x${"00".repeat(32)}`, "0x"];

// ERC-4337: the fields of a user operation, and since version 0.7 of a packed one.
const common = (sender: Hex) => ({
  ...{ sender, nonce: 1n, initCode: none, callData: "0x1234" as Hex, preVerificationGas: 1n },
  ...{ paymasterAndData: none, signature: none },
});
const bundleOf06 = (...senders: Hex[]) =>
  encodeFunctionData({
    abi: entryPoint06Abi,
    functionName: "handleOps",
    args: [
      senders.map((sender) => ({
        ...common(sender),
        ...{ callGasLimit: 1n, verificationGasLimit: 1n, maxFeePerGas: 1n, maxPriorityFeePerGas: 1n },
      })),
      bundler,
    ] as never,
  });
const bundleOf07 = (...senders: Hex[]) =>
  encodeFunctionData({
    abi: entryPoint07Abi,
    functionName: "handleOps",
    args: [
      senders.map((sender) => ({ ...common(sender), accountGasLimits: word, gasFees: word })),
      bundler,
    ] as never,
  });

test.each<[string, Hex | null, Hex | undefined, Hex | undefined]>([
  ["a plain transaction", bob, "0x1234", undefined],
  ["a creation of a contract", null, "0x6000", undefined],
  ["one operation of version 0.6", entryPoint06Address, bundleOf06(alice), alice],
  ["one packed operation", entryPoint07Address, bundleOf07(alice), alice],
  ["several operations of one account", entryPoint07Address, bundleOf07(alice, alice), alice],
  ["operations of several accounts", entryPoint07Address, bundleOf07(alice, bob), undefined],
  ["no operation", entryPoint07Address, bundleOf07(), undefined],
  ["operations sent to another contract", bob, bundleOf07(alice), undefined],
  ["data that is no bundle", entryPoint07Address, "0x1fad948cff", undefined],
  ["an unknown function", entryPoint07Address, "0xffffffff", undefined],
  ["no data", entryPoint07Address, undefined, undefined],
])("the account that acts by %s", (_, to, input, expected) => {
  expect(actingAccount({ to, input })).toBe(expected);
});
