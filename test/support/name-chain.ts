import {
  type AbiEvent,
  encodeAbiParameters,
  encodeErrorResult,
  encodeEventTopics,
  encodeFunctionData,
  encodeFunctionResult,
  type Hex,
  parseAbi,
  toHex,
} from "viem";
import { packetToBytes } from "viem/ens";
import { registryResolverAbi } from "../../abis/names.ts";
import { reverseRegistrarAbi } from "../../abis/registrars.ts";
import { registryReadAbi, resolverReadAbi, resolverRecordsAbi } from "../../abis/resolver.ts";
import { labelhash } from "../../src/ens/labels.ts";
import { namehash, parentName } from "../../src/ens/names.ts";
import type { Anvil } from "./anvil.ts";
import { emitCall, type TableEntry, tableContract } from "./subgraph/table-contract.ts";

type Read = { functionName: string; args: readonly unknown[] };

const lookupAbi = parseAbi([
  "error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData)",
]);
const callbackAbi = parseAbi([
  "function resolveCallback(bytes response, bytes extraData) view returns (bytes)",
]);

/** A name service on a local chain whose contracts are tables: tests decide what they return and which events they emit. */
export function createNameChain(anvil: Anvil) {
  const tables = new Map<Hex, Map<Hex, TableEntry>>();

  async function install(address: Hex, entries: readonly TableEntry[]) {
    const table = tables.get(address) ?? new Map<Hex, TableEntry>();
    tables.set(address, table);
    for (const entry of entries) table.set(entry.call, entry);
    await anvil.client.setCode({ address, bytecode: tableContract([...table.values()]) });
  }

  async function emit(address: Hex, abi: readonly unknown[], event: string, args: Record<string, unknown>) {
    if (!tables.has(address)) await install(address, []);
    const item = (abi as AbiEvent[]).find(
      ({ name, inputs }) => name === event && Object.keys(args).length === inputs.length,
    );
    if (item === undefined) throw new Error(`no event ${event}`);
    const topics = encodeEventTopics({ abi: [item], args } as never) as Hex[];
    const values = item.inputs.filter(({ indexed }) => !indexed);
    const data = encodeAbiParameters(
      values,
      values.map(({ name }) => args[name ?? ""]),
    );
    const { client } = anvil;
    const [account = address] = await client.getAddresses();
    const hash = await client.sendTransaction({
      account,
      to: address,
      data: emitCall(topics, data),
      chain: null,
    });
    await client.waitForTransactionReceipt({ hash, pollingInterval: 20 });
  }

  return {
    /** What a resolver or registry returns for a call from now on. */
    answers: (address: Hex, answers: readonly [read: Read, result: unknown][]) =>
      install(
        address,
        answers.map(([read, result]) => entryOf(read, result)),
      ),

    /** A resolver that refers the read of a name to a gateway, and trusts it (ENSIP-10, EIP-3668). */
    async asksGateway(
      address: Hex,
      { name, read, url, response }: { name: string; read: Read; url: string; response: Hex },
    ) {
      const inner = encodeFunctionData({ abi: resolverReadAbi, ...read } as never);
      const call = resolveCall(name, inner);
      const lookup = encodeErrorResult({
        abi: lookupAbi,
        errorName: "OffchainLookup",
        args: [address, [url], inner, callbackSelector, call],
      });
      const callback = encodeFunctionData({ abi: callbackAbi, args: [response, call] });
      const returned = encodeAbiParameters([{ type: "bytes" }], [response]);
      await install(address, [
        { call, data: lookup, isRevert: true },
        { call: callback, data: returned },
      ]);
    },

    /** What an extended resolver returns for the read of a name. */
    answersExtended: (address: Hex, name: string, read: Read, result: unknown) =>
      install(address, [
        {
          call: resolveCall(name, encodeFunctionData({ abi: resolverReadAbi, ...read } as never)),
          data: encodeAbiParameters([{ type: "bytes" }], [resultOf(read, result)]),
        },
      ]),

    /** The registry sets another resolver for the name. */
    async setResolver(registry: Hex, name: string, resolver: Hex) {
      const node = namehash(name);
      await install(registry, [registryEntry(node, resolver)]);
      return emit(registry, registryResolverAbi, "NewResolver", { node, resolver });
    },

    /** The registry returns a resolver without having emitted it, like one that falls back to an older registry. */
    fallsBack: (registry: Hex, name: string, resolver: Hex) =>
      install(registry, [registryEntry(namehash(name), resolver)]),

    /** The registry creates a name. */
    newOwner: (registry: Hex, name: string, owner: Hex) =>
      emit(registry, registryResolverAbi, "NewOwner", {
        node: namehash(parentName(name)),
        label: labelhash(name.split(".")[0] ?? ""),
        owner,
      }),

    /** A resolver emits an event about a record. */
    record: (resolver: Hex, event: string, args: Record<string, unknown>) =>
      emit(resolver, resolverRecordsAbi, event, args),

    /** A reverse registrar records an account's name. */
    nameFor: (registrar: Hex, address: Hex, name: string) =>
      emit(registrar, reverseRegistrarAbi, "NameForAddrChanged", { addr: address, name }),
  };
}

const callbackSelector = encodeFunctionData({ abi: callbackAbi, args: ["0x", "0x"] }).slice(0, 10) as Hex;

function resolveCall(name: string, inner: Hex): Hex {
  return encodeFunctionData({
    abi: resolverReadAbi,
    functionName: "resolve",
    args: [toHex(packetToBytes(name)), inner],
  });
}

function registryEntry(node: Hex, resolver: Hex): TableEntry {
  return {
    call: encodeFunctionData({ abi: registryReadAbi, args: [node] }),
    data: encodeFunctionResult({ abi: registryReadAbi, result: resolver }),
  };
}

function entryOf(read: Read, result: unknown): TableEntry {
  return {
    call: encodeFunctionData({ abi: resolverReadAbi, ...read } as never),
    data: resultOf(read, result),
  };
}

// `addr` has two forms with different results.
function resultOf({ functionName, args }: Read, result: unknown): Hex {
  const abi = resolverReadAbi.filter(
    (item) => item.name === functionName && item.inputs.length === args.length,
  );
  return encodeFunctionResult({ abi, functionName, result } as never);
}
