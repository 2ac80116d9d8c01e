import { encodeAbiParameters, encodeErrorResult, encodeFunctionData, type Hex, parseAbi, toHex } from "viem";
import { namehash } from "viem/ens";
import { listen } from "../../../devnet/rpc/server.ts";
import { startRpcProxy } from "./rpc-proxy.ts";

const lookupAbi = parseAbi([
  "error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData)",
  "struct Request { address sender; string[] urls; bytes data; }",
  "function query(Request[] requests) view returns (bool[] failures, bytes[] responses)",
]);
const callback: Hex = "0xca11bac0";
const resolverSelector = "0x0178b8bf";
const supportsInterface = "0x01ffc9a7";

type Reply = { result: Hex } | { error: { code: number; message: string; data?: Hex } };
type Behaviour = (resolver: Hex) => Reply;

const word = (value: number): Hex => toHex(value, { size: 32 });
const lookup = (sender: Hex, urls: string[], data: Hex): Reply => ({
  error: {
    code: 3,
    message: "execution reverted",
    data: encodeErrorResult({
      abi: lookupAbi,
      errorName: "OffchainLookup",
      args: [sender, urls, data, callback, "0x"],
    }),
  },
});

const endlessQuery = encodeFunctionData({ abi: lookupAbi, functionName: "query", args: [[]] });

// A line that a revert reason forges in the log if its line feeds are not escaped.
const forgedLine = '{"level":60,"msg":"forged"}';

const kilobyteOfControls = `\u001b[31mred\u001b[0m\n${forgedLine}\r\n${"x".repeat(960)}`;

/** What the resolver of each name does when a record is read; `gateway` is the URL of a server that answers 101. */
function behavioursOf(gateway: string): Record<string, Behaviour> {
  return {
    // Endless EIP-3668: each callback requests the next lookup.
    "loop.eth": (resolver) => lookup(resolver, ["x-batch-gateway:true"], endlessQuery),
    "invalid.eth": () => ({ error: { code: -32000, message: "invalid opcode: INVALID" } }),
    "overflow.eth": () => ({ error: { code: -32000, message: "gas uint64 overflow" } }),
    "reason.eth": () => ({
      error: { code: 3, message: `execution reverted: ${kilobyteOfControls.repeat(1000)}` },
    }),
    "template.eth": (resolver) =>
      lookup(
        resolver,
        Array.from({ length: 24 }, (_, i) => `https://127.0.0.1:1/${i}/${"{data}".repeat(240)}`),
        `0x${"da".repeat(500_000)}`,
      ),
    "upgrade.eth": (resolver) => lookup(resolver, [gateway], "0xdeadbeef"),
    "plain.eth": () => ({ result: encodeAbiParameters([{ type: "string" }], ["a plain text record"]) }),
  };
}

/**
 * Serves a chain whose registry has a resolver for each hostile name (`loop.eth` and so on) that behaves like a
 * contract written for the attack, and none for other names. Counts `eth_call`.
 */
export async function startHostileNode(registry: Hex) {
  const gateway = await listen(({ socket }) =>
    socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"),
  );
  const behaviours = Object.entries(behavioursOf(`${gateway.url}/{data}`));
  const resolverOf = new Map(behaviours.map(([name], i) => [namehash(name), addressOf(i)]));
  const behaviourOf = new Map(behaviours.map(([, behaviour], i) => [addressOf(i), behaviour]));

  const replyTo = ({ to, data, input }: { to?: string; data?: string; input?: string }): Reply => {
    const target = String(to).toLowerCase() as Hex;
    const text = data ?? input ?? "0x";
    const asked = target === registry && text.startsWith(resolverSelector);
    const resolver = asked ? resolverOf.get(`0x${text.slice(10)}`) : undefined;
    if (resolver) return { result: encodeAbiParameters([{ type: "address" }], [resolver]) };
    const behaviour = text.startsWith(supportsInterface) ? undefined : behaviourOf.get(target);
    return behaviour?.(target) ?? { result: word(0) };
  };

  const proxy = await startRpcProxy("", ({ id, params }, response) => {
    const reply = replyTo((params[0] ?? {}) as object);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...reply }));
    return true;
  });
  return {
    url: proxy.url,
    /** `eth_call` requests since the start. */
    calls: () => proxy.countOf("eth_call"),
    close: () => Promise.all([proxy.close(), gateway.close()]),
  };
}

const addressOf = (index: number): Hex => `0x${"bad".padEnd(38, "0")}${String(index).padStart(2, "0")}`;
