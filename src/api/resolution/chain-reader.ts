import {
  type Abi,
  type Client,
  decodeFunctionResult,
  type EncodeFunctionDataParameters,
  encodeFunctionData,
  type Hex,
  toHex,
} from "viem";
import { call } from "viem/actions";
import { packetToBytes } from "viem/ens";
import { registryReadAbi, resolverReadAbi, universalResolverAbi } from "../../../abis/resolver.ts";
import { isContractRefusal } from "../../ens/contract-refusals.ts";
import { namesAbove, nodeOfName } from "../../ens/names.ts";
import { zeroAddress } from "../../ens/nodes.ts";
import type { KnownContracts } from "./known-contracts.ts";

/** The resolver that a chain tells for a name; `isWildcard`: it is set for a name above. */
export type FoundResolver = { resolver: Hex; isWildcard: boolean };

/** Reads contracts of one request: over the chains' nodes, behind gateways where a contract asks for it. */
export type ChainReader = {
  /** A function's answer; undefined if the contract refuses. Throws UnavailableError if the chain cannot be asked. */
  read<A extends Abi>(chainId: number, to: Hex, request: EncodeFunctionDataParameters<A>): Promise<unknown>;
  /** The resolver that the root registry has for the name (ENSIP-10). Throws UnavailableError. */
  findResolver(name: string): Promise<FoundResolver | undefined>;
};

type GatewayReader = (lookup: { data: Hex; sender: Hex; urls: readonly string[] }) => Promise<Hex>;

/** A reader over the clients of chains. It gives up when `signal` says so. */
export function createChainReader({
  clientOf,
  known,
  askGateways,
  signal,
}: {
  clientOf: (chainId: number) => Client | undefined;
  known: KnownContracts;
  askGateways: GatewayReader;
  signal: AbortSignal;
}): ChainReader {
  const read: ChainReader["read"] = async (chainId, to, request) => {
    const client = clientOf(chainId);
    if (client === undefined) throw new UnavailableError(`Chain ${chainId} has no RPC URL.`);
    try {
      const { data } = await unlessAborted(
        call(
          { ...client, ccipRead: { request: askGateways } },
          {
            to,
            data: encodeFunctionData(request as EncodeFunctionDataParameters),
          },
        ),
        signal,
      );
      return decodeFunctionResult({ ...(request as object), data: data ?? "0x" } as never);
    } catch (error) {
      if (!signal.aborted && isContractRefusal(error)) return undefined;
      throw new UnavailableError(`Chain ${chainId} could not be asked.`, error);
    }
  };

  async function askUniversalResolver(name: string, universalResolver: Hex) {
    const found = (await read(known.root.chainId, universalResolver, {
      abi: universalResolverAbi,
      functionName: "findResolver",
      args: [toHex(packetToBytes(name))],
    })) as readonly [Hex, Hex, bigint] | undefined;
    // It answers for every name: a refusal means that the contract is not there.
    if (found === undefined) throw new UnavailableError("The universal resolver gives no answer.");
    if (found[0] === zeroAddress) return undefined;
    return { resolver: found[0].toLowerCase() as Hex, isWildcard: found[2] > 0n };
  }

  // Networks without a universal resolver: what it does is to ask the registry for the name and all above it.
  async function askRegistry(name: string) {
    const resolvers = await Promise.all(
      namesAbove(name).map((above) =>
        read(known.root.chainId, known.root.address, {
          abi: registryReadAbi,
          functionName: "resolver",
          args: [nodeOfName(above)],
        }),
      ),
    );
    const place = resolvers.findIndex((resolver) => resolver !== undefined && resolver !== zeroAddress);
    if (place < 0) return undefined;
    return { resolver: String(resolvers[place]).toLowerCase() as Hex, isWildcard: place > 0 };
  }

  return {
    read,
    findResolver: (name) =>
      known.universalResolver === undefined
        ? askRegistry(name)
        : askUniversalResolver(name, known.universalResolver),
  };
}

/** The answer of a resolver's function through its `resolve` (ENSIP-10); undefined if it refuses or answers nothing. */
export async function readExtended(
  reader: ChainReader,
  { chainId, resolver, name }: { chainId: number; resolver: Hex; name: string },
  request: { functionName: string; args: readonly unknown[] },
): Promise<unknown> {
  const inner = { abi: resolverReadAbi, ...request } as EncodeFunctionDataParameters;
  const data = (await reader.read(chainId, resolver, {
    abi: resolverReadAbi,
    functionName: "resolve",
    args: [toHex(packetToBytes(name)), encodeFunctionData(inner)],
  })) as Hex | undefined;
  if (data === undefined || data === "0x") return undefined;
  try {
    // ENSIP-10 answers carry the function's return data. `addr` is overloaded: the arguments tell which one was asked.
    return decodeFunctionResult({ ...inner, data } as never);
  } catch {
    return undefined; // A resolver may answer what its function cannot mean: that is no record.
  }
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
    work.catch(() => undefined); // Nobody waits for what comes after the end.
  }
}

/** A chain that an answer needs could not be asked. */
export class UnavailableError extends Error {
  override name = "UnavailableError";
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
  }
}
