import {
  type Abi,
  type Client,
  decodeFunctionResult,
  type EIP1193RequestOptions,
  type EncodeFunctionDataParameters,
  encodeFunctionData,
  type Hex,
  toHex,
} from "viem";
import { call } from "viem/actions";
import { packetToBytes } from "viem/ens";
import { registryReadAbi, resolverReadAbi, universalResolverAbi } from "../../../abis/resolver.ts";
import { isContractRefusal } from "../../ens/contract-refusals.ts";
import { zeroAddress } from "../../ens/ids.ts";
import { namehash, namesAbove } from "../../ens/names.ts";
import { addressValue, bytesValue, nameRecord, pubkeyValue, textValue } from "../../ens/record-values.ts";
import type { KnownContracts, Registry } from "../names/known-contracts.ts";
import { type Family, type Records, recordsBy, type Selection, unsetRecords } from "../names/selection.ts";
import { createTurns, resolutionLimits } from "./admission.ts";
import { GatewayError } from "./gateway.ts";

/** A name's resolver on a chain. `isWildcard`: an ancestor of the name has it. */
type FoundResolver = { resolver: Hex; isWildcard: boolean };

/** Reads contracts for one request, over RPC and through the gateways that contracts redirect to (EIP-3668). */
export type ChainReader = {
  /**
   * A function's return value; undefined if the contract fails. Throws UnavailableError if the chain cannot be asked.
   */
  read<A extends Abi>(chainId: number, to: Hex, request: EncodeFunctionDataParameters<A>): Promise<unknown>;
  /** The name's resolver, starting at the root registry (ENSIP-10). Throws UnavailableError. */
  findResolver(name: string): Promise<FoundResolver | undefined>;
};

type ReaderSource = {
  clientOf: (chainId: number) => Client | undefined;
  askGateways: (lookup: { data: Hex; sender: Hex; urls: readonly string[] }) => Promise<Hex>;
  known: Pick<KnownContracts, "root" | "universalResolver">;
  signal: AbortSignal;
};

/** Creates a reader for one request. It makes a limited number of calls, and ends them when `signal` aborts. */
export function createChainReader({ clientOf, askGateways, known, signal }: ReaderSource): ChainReader {
  const takeTurn = createTurns(resolutionLimits.callsAtOnce);
  let callsLeft = resolutionLimits.calls;

  // Bounds the calls to a contract that requests one gateway lookup after another.
  const boundedOf = (client: Client): Client => {
    let roundsLeft = resolutionLimits.rounds;
    const request = async (request: object, options?: EIP1193RequestOptions) => {
      roundsLeft -= 1;
      callsLeft -= 1;
      if (roundsLeft < 0) throw new GatewayError("the contract requests too many consecutive lookups");
      if (callsLeft < 0) throw new UnavailableError(tooManyCalls);
      return takeTurn(signal, () => client.request(request as never, options));
    };
    return { ...client, request: request as Client["request"], ccipRead: { request: askGateways } };
  };

  const read: ChainReader["read"] = async (chainId, to, request) => {
    const client = clientOf(chainId);
    if (client === undefined) throw new UnavailableError(`Chain ${chainId} has no RPC URL.`);
    try {
      signal.throwIfAborted();
      const data = encodeFunctionData(request as EncodeFunctionDataParameters);
      const reply = await call(boundedOf(client), { to, data, requestOptions: { signal } });
      return decodeFunctionResult({ ...(request as object), data: reply.data ?? "0x" } as never);
    } catch (error) {
      if (!signal.aborted && isContractRefusal(error)) return undefined;
      const reason = callsLeft < 0 ? tooManyCalls : `Chain ${chainId} could not be asked.`;
      throw new UnavailableError(reason, { cause: error });
    }
  };
  const { root, universalResolver: address } = known;
  const findResolver = (name: string) =>
    address === undefined
      ? askRegistry(read, root, name)
      : askUniversalResolver(read, { chainId: root.chainId, address }, name);
  return { read, findResolver };
}

const tooManyCalls = "The request takes too many calls of contracts.";

async function askUniversalResolver(read: ChainReader["read"], { chainId, address }: Registry, name: string) {
  const found = (await read(chainId, address, {
    abi: universalResolverAbi,
    functionName: "findResolver",
    args: [toHex(packetToBytes(name))],
  })) as readonly [Hex, Hex, bigint] | undefined;
  // The contract answers for every name, so a failed call means that it does not exist.
  if (found === undefined) throw new UnavailableError("The universal resolver returns nothing.");
  if (found[0] === zeroAddress) return undefined;
  return { resolver: found[0].toLowerCase() as Hex, isWildcard: found[2] > 0n };
}

// Networks without a universal resolver: asks the registry for the name and its ancestors, as that contract does.
async function askRegistry(read: ChainReader["read"], { chainId, address }: Registry, name: string) {
  const resolvers = await Promise.all(
    namesAbove(name).map((above) =>
      read(chainId, address, {
        abi: registryReadAbi,
        functionName: "resolver",
        args: [namehash(above)],
      }),
    ),
  );
  const index = resolvers.findIndex((resolver) => resolver !== undefined && resolver !== zeroAddress);
  if (index < 0) return undefined;
  return { resolver: String(resolvers[index]).toLowerCase() as Hex, isWildcard: index > 0 };
}

/** A chain that the response needs could not be asked, or the response needs too many calls. */
export class UnavailableError extends Error {
  override name = "UnavailableError";
}

type Resolver = { chainId: number; resolver: Hex; name: string; isWildcard: boolean };

const extendedResolverInterface = "0x9061b923";

/** The selected records as the resolver returns them, null where it fails. Throws UnavailableError. */
export async function liveRecords(
  reader: ChainReader,
  target: Resolver,
  selection: Selection,
): Promise<Records> {
  const { chainId, resolver, name } = target;
  const isExtended =
    (await reader.read(chainId, resolver, {
      abi: resolverReadAbi,
      functionName: "supportsInterface",
      args: [extendedResolverInterface],
    })) === true;
  // ENSIP-10: only an extended resolver resolves names below the one that it is set for.
  if (target.isWildcard && !isExtended) return unsetRecords(selection);

  const node = namehash(name);
  const ask = (functionName: string, ...args: unknown[]) => {
    const request = { abi: resolverReadAbi, functionName, args: [node, ...args] } as never;
    return isExtended ? readExtended(reader, target, request) : reader.read(chainId, resolver, request);
  };
  const asked: Promise<unknown>[] = [];
  recordsBy(selection, (family, key) => asked.push(askFor(ask, family, key)));
  const values = (await Promise.all(asked)).values();
  return recordsBy(selection, () => values.next().value);
}

// ENSIP-10: `resolve` returns the function's encoded return data.
async function readExtended(
  reader: ChainReader,
  { chainId, resolver, name }: Resolver,
  request: EncodeFunctionDataParameters,
): Promise<unknown> {
  const data = (await reader.read(chainId, resolver, {
    abi: resolverReadAbi,
    functionName: "resolve",
    args: [toHex(packetToBytes(name)), encodeFunctionData(request)],
  })) as Hex | undefined;
  if (data === undefined || data === "0x") return undefined;
  try {
    // `addr` is overloaded: the arguments select the overload.
    return decodeFunctionResult({ ...request, data } as never);
  } catch {
    return undefined; // Data that the function cannot return is not a record.
  }
}

type CallFunction = (functionName: string, ...args: unknown[]) => Promise<unknown>;

async function askFor(ask: CallFunction, family: Family, key: string | bigint | true): Promise<unknown> {
  const { functionName, read } = getters[family];
  const raw = await ask(functionName, ...(key === true || family === "name" ? [] : [key]));
  // Resolvers older than ENSIP-9 have only the `addr` of coin type 60, a function of its own.
  return read(raw === undefined && family === "addresses" && key === 60n ? await ask("addr") : raw, key);
}

const ofText =
  <T>(read: (text: string, selected: unknown) => T) =>
  (raw: unknown, selected: unknown) =>
    typeof raw === "string" ? read(raw, selected) : null;
const ofBytes = ofText((raw) => bytesValue(raw as Hex));

// Each family's function, and the record in its return value.
const getters: Readonly<
  Record<Family, { functionName: string; read: (raw: unknown, selected: unknown) => unknown }>
> = {
  name: { functionName: "name", read: ofText(nameRecord) },
  addresses: { functionName: "addr", read: ofText(addressValue) },
  texts: { functionName: "text", read: ofText(textValue) },
  data: { functionName: "data", read: ofBytes },
  contenthash: { functionName: "contenthash", read: ofBytes },
  pubkey: { functionName: "pubkey", read: toPubkey },
  dnszonehash: { functionName: "zonehash", read: ofBytes },
  version: { functionName: "recordVersions", read: (raw) => (typeof raw === "bigint" ? String(raw) : null) },
  abi: { functionName: "ABI", read: toAbiRecord },
  interfaces: {
    functionName: "interfaceImplementer",
    read: ofText((raw) => (raw === zeroAddress ? null : raw.toLowerCase())),
  },
};

function toPubkey(raw: unknown) {
  const [x, y] = (raw ?? []) as Hex[];
  return x === undefined || y === undefined ? null : pubkeyValue({ x, y });
}

function toAbiRecord(raw: unknown) {
  const [contentType, data] = (raw ?? []) as [bigint?, Hex?];
  if (!contentType || data === undefined || data === "0x") return null;
  return { contentType: String(contentType), data };
}
