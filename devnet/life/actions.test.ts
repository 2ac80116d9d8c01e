import { decodeFunctionData, type Hex, keccak256, namehash, numberToHex, parseAbi, stringToHex } from "viem";
import { describe, expect, test } from "vitest";
import type { EmittedLog } from "../events.ts";
import { type Answer, readAddresses, readLabels, readRecording } from "../recording.ts";
import {
  approveWrapper,
  type Contracts,
  createSubname,
  createWrappedSubname,
  type RecordChange,
  register,
  renew,
  setRecords,
  transferToken,
  wrap,
} from "./actions.ts";

// Function of the ENS registry that creates a subname with all of its fields.
const registryFunctions = parseAbi([
  "function setSubnodeRecord(bytes32 node, bytes32 label, address owner, address resolver, uint64 ttl)",
]);

// ERC-721 functions of the `.eth` registrar.
const registrarFunctions = parseAbi([
  "function setApprovalForAll(address operator, bool approved)",
  "function safeTransferFrom(address from, address to, uint256 tokenId)",
]);

// Functions of the controller that registers unwrapped names and records a referrer (deployed in 2025).
const controllerFunctions = parseAbi([
  "struct Registration { string label; address owner; uint256 duration; bytes32 secret; address resolver; bytes[] data; uint8 reverseRecord; bytes32 referrer; }",
  "function register(Registration registration) payable",
  "function renew(string label, uint256 duration, bytes32 referrer) payable",
]);

// Functions of the public resolver: address, text and content records.
const resolverFunctions = parseAbi([
  "function setAddr(bytes32 node, uint256 coinType, bytes a)",
  "function setText(bytes32 node, string key, string value)",
  "function setContenthash(bytes32 node, bytes hash)",
  "function multicall(bytes[] data) returns (bytes[] results)",
]);

// Functions of the name wrapper.
const wrapperFunctions = parseAbi([
  "function wrapETH2LD(string label, address wrappedOwner, uint16 ownerControlledFuses, address resolver)",
  "function setSubnodeRecord(bytes32 parentNode, string label, address owner, address resolver, uint64 ttl, uint32 fuses, uint64 expiry)",
]);

// The recording contains what the real contracts emitted: each action must leave the same logs, byte for byte.
const folder = new URL("../recording/a", import.meta.url).pathname;
const recording = readRecording(folder);
const contracts = readAddresses(folder) as Contracts;
const receiptOf = new Map(recording.receipts.map((receipt) => [receipt["transactionHash"], receipt]));

const recorded = recording.transactions
  .map((transaction) => ({
    hash: transaction["hash"] as Hex,
    from: transaction["from"] as Hex,
    to: transaction["to"] as Hex,
    input: transaction["input"] as Hex,
    logs: (receiptOf.get(transaction["hash"])!["logs"] as Answer[]).map(
      ({ address, topics, data }) => ({ address, topics, data }) as EmittedLog,
    ),
  }))
  .filter(({ logs }) => logs.length > 0);

const sentTo = (contract: keyof Contracts, selector: string) =>
  recorded.filter(({ to, input }) => to === contracts[contract] && input.startsWith(selector));
const registered = sentTo("UnwrappedEthRegistrarController", "0xef9c8805").flatMap(({ input }) => {
  const { args, functionName } = decodeFunctionData({ abi: controllerFunctions, data: input });
  return functionName === "register" ? [args[0].label] : [];
});
const labels = [...readLabels(folder), ...registered].filter((label) => /^[a-z0-9-]+$/.test(label));
const word = (log: EmittedLog | undefined, index: number) =>
  BigInt(`0x${log?.data.slice(2 + 64 * index, 66 + 64 * index)}`);
const zeroTopic = `0x${"0".repeat(64)}`;

function changeOf(data: Hex): RecordChange | undefined {
  const selector = data.slice(0, 10);
  if (!["0x10f13a8c", "0x8b95dd71", "0x304e6ade"].includes(selector)) return undefined;
  const { functionName, args } = decodeFunctionData({ abi: resolverFunctions, data });
  if (functionName === "setText") return { type: "text", key: args[1], value: args[2] };
  if (functionName === "setContenthash") return { type: "contenthash", hash: args[1] };
  if (functionName === "setAddr") return { type: "addr", coinType: args[1], address: args[2] };
  return undefined;
}

describe("register", () => {
  const seen = new Set<string>();
  const comparable = sentTo("UnwrappedEthRegistrarController", "0xef9c8805").flatMap(
    ({ from, input, logs }) => {
      const call = decodeFunctionData({ abi: controllerFunctions, data: input });
      if (call.functionName !== "register") return [];
      const [registration] = call.args;
      const { owner, resolver, data, reverseRecord } = registration;
      const changes = data.map(changeOf);
      const withoutResolver = BigInt(resolver) === 0n;
      const isAgain = logs[0]?.topics[1] !== zeroTopic;
      const sender = from.toLowerCase() === owner.toLowerCase();
      if (isAgain || !sender || changes.includes(undefined) || ![0, 3].includes(reverseRecord)) return [];
      if (!withoutResolver && resolver.toLowerCase() !== contracts.PublicResolverV5) return [];
      const newResolvers = logs.filter(({ topics }) => topics[0]?.startsWith("0x335721b0")).length;
      const reverse =
        reverseRecord === 0
          ? ("none" as const)
          : newResolvers === 2
            ? ("first" as const)
            : ("again" as const);
      const records = withoutResolver ? undefined : (changes as RecordChange[]);
      seen.add(`${records === undefined ? "plain" : records.length > 0 ? "records" : "resolver"} ${reverse}`);
      return [{ registration, records, reverse, logs }];
    },
  );

  test("repeats the logs of the real controller", () => {
    expect(comparable.length).toBeGreaterThan(40);
    expect([...seen].sort()).toEqual(
      expect.arrayContaining([
        "plain none",
        "records first",
        "records none",
        "resolver first",
        "resolver none",
      ]),
    );
    for (const { registration, records, reverse, logs } of comparable) {
      const { label, owner, referrer } = registration;
      const last = logs.at(-1);
      const action = register(contracts, {
        label,
        owner,
        expires: word(last, 3),
        cost: word(last, 1),
        records,
        reverse,
        referrer,
      });
      expect(action.logs).toEqual(logs);
    }
  });

  test("sends the registration to the controller", () => {
    const [first] = comparable;
    const { label, owner, referrer } = first!.registration;
    const action = register(contracts, {
      label,
      owner,
      expires: 1n,
      cost: 7n,
      referrer,
    });
    expect(action).toMatchObject({ to: contracts.UnwrappedEthRegistrarController, value: 7n });
  });
});

test("renew repeats the transactions of the real controller", () => {
  const renewals = sentTo("UnwrappedEthRegistrarController", "0x18026ad1").filter(({ input }) => {
    return decodeFunctionData({ abi: controllerFunctions, data: input }).args[2] === zeroTopic;
  });
  expect(renewals.length).toBeGreaterThan(0);
  for (const { from, input, logs } of renewals) {
    const [label] = decodeFunctionData({ abi: controllerFunctions, data: input }).args as [
      string,
      bigint,
      Hex,
    ];
    const cost = word(logs[1], 1);
    const expires = word(logs[0], 0);
    const action = renew(contracts, { label, payer: from, expires, cost });
    expect({ logs: action.logs, value: action.value }).toEqual({ logs, value: cost });
  }
});

test("wrap repeats the transactions of the real wrapper, with and without a new resolver", () => {
  const wraps = sentTo("NameWrapper", "0x8cf8b41e").flatMap(({ from, input, logs }) => {
    const [label, owner, fuses, resolver] = decodeFunctionData({ abi: wrapperFunctions, data: input })
      .args as [string, Hex, number, Hex];
    const isOwn = owner.toLowerCase() === from && logs[0]?.topics[1]?.slice(26) === from.slice(2);
    if (fuses !== 0 || !isOwn || logs[2]?.topics[2] !== zeroTopic) return [];
    return [{ label, from, logs, resolver, hadResolver: BigInt(resolver) === 0n }];
  });
  expect(new Set(wraps.map(({ hadResolver }) => hadResolver))).toEqual(new Set([true, false]));
  for (const { label, from, logs, resolver, hadResolver } of wraps) {
    const expires = word(logs[3], 3) - 7_776_000n;
    const action = wrap(
      { ...contracts, PublicResolverV5: resolver },
      { label, owner: from, expires, hadResolver },
    );
    expect(action.logs).toEqual(logs);
  }
});

test.each([
  ["0xe036dff338", "bragam", "drarihexvo.eth"],
  ["0x9889d79ffb", "vo", "ri.jufon.eth"],
])("createSubname repeats transaction %s of the real registry", (hash, label, parent) => {
  const { from, input, logs } = recorded.find((transaction) => transaction.hash.startsWith(hash))!;
  const { args } = decodeFunctionData({ abi: registryFunctions, data: input });
  const at = { ...contracts, PublicResolverV5: args[3] as Hex };
  const action = createSubname(at, { parent, label, owner: from });
  expect(action.logs).toEqual(logs);
});

test("createWrappedSubname repeats the logs of the real wrapper", () => {
  const subnames = sentTo("NameWrapper", "0x24c1af44").flatMap(({ from, input, logs }) => {
    const [, label, owner, resolver, ttl, fuses, expiry] = decodeFunctionData({
      abi: wrapperFunctions,
      data: input,
    }).args as readonly [Hex, string, Hex, Hex, bigint, number, bigint];
    const plain =
      /^[a-z0-9-]+$/.test(label) && ttl === 0n && fuses === 0 && expiry === 0n && logs.length === 4;
    if (!plain || owner.toLowerCase() !== from) return [];
    const [labelBytes, ...rest] = dnsLabels(logs[3]);
    return labelBytes === label ? [{ label, parent: rest.join("."), from, resolver, logs }] : [];
  });
  expect(subnames.length).toBeGreaterThan(0);
  for (const { label, parent, from, resolver, logs } of subnames) {
    const at = { ...contracts, PublicResolverV5: resolver };
    const action = createWrappedSubname(at, { parent, label, owner: from });
    expect(action.logs).toEqual(logs);
  }
});

test("setRecords repeats single calls and multicalls of the real resolver", () => {
  const names = new Map(labels.map((label) => [namehash(`${label}.eth`), `${label}.eth`]));
  const seen = new Set<string>();
  const calls = recorded.flatMap(({ from, to, input, logs }) => {
    if (to !== contracts.PublicResolverV5) return [];
    const isMulticall = input.startsWith("0xac9650d8");
    const data = isMulticall
      ? (decodeFunctionData({ abi: resolverFunctions, data: input }).args as readonly [Hex[]])[0]
      : [input];
    const name = names.get(logs[0]?.topics[1] as Hex);
    const records = data.map(changeOf);
    const isPlain = isMulticall ? data.length > 1 : true;
    if (name === undefined || records.includes(undefined) || !isPlain) return [];
    for (const change of records) seen.add(`${isMulticall ? "multicall" : "call"} ${change?.type}`);
    return [{ name, from, logs, records: records as RecordChange[] }];
  });
  expect([...seen].sort()).toEqual(
    expect.arrayContaining(["call contenthash", "multicall addr", "multicall contenthash", "multicall text"]),
  );
  for (const { name, from, logs, records } of calls) {
    const action = setRecords(contracts.PublicResolverV5, { name, owner: from, records });
    expect(action.logs).toEqual(logs);
  }
});

test("transferToken and approveWrapper repeat the transactions of the real registrar", () => {
  const labelOf = new Map(labels.map((label) => [keccak256(stringToHex(label)), label]));
  const transfers = sentTo("BaseRegistrar", "0x42842e0e").flatMap(({ from, input, logs }) => {
    const [holder, to, tokenId] = decodeFunctionData({ abi: registrarFunctions, data: input }).args as [
      Hex,
      Hex,
      bigint,
    ];
    const label = labelOf.get(numberToHex(tokenId, { size: 32 }));
    return label === undefined || holder.toLowerCase() !== from ? [] : [{ label, from, to, logs }];
  });
  expect(transfers.length).toBeGreaterThan(0);
  for (const { label, from, to, logs } of transfers) {
    const action = transferToken(contracts, { label, owner: from, to });
    expect(action.logs).toEqual(logs);
  }
  const approvals = sentTo("BaseRegistrar", "0xa22cb465").filter(
    ({ input }) => input.slice(34, 74) === contracts.NameWrapper.slice(2) && input.endsWith("1"),
  );
  expect(approvals.length).toBeGreaterThan(0);
  for (const { from, logs } of approvals) {
    const action = approveWrapper(contracts, from);
    expect(action.logs).toEqual(logs);
  }
});

/** Labels of the DNS name in a NameWrapped log: its first data word points to length and bytes. */
function dnsLabels(log: EmittedLog | undefined): string[] {
  const bytes = Buffer.from(log?.data.slice(2) ?? "", "hex");
  const start = Number(BigInt(`0x${bytes.subarray(0, 32).toString("hex")}`)) + 32;
  const labels: string[] = [];
  for (let at = start; (bytes[at] ?? 0) > 0; at += 1 + (bytes[at] ?? 0)) {
    labels.push(bytes.subarray(at + 1, at + 1 + (bytes[at] ?? 0)).toString("utf8"));
  }
  return labels;
}
