import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { encodeAbiParameters, encodeErrorResult, encodeFunctionData, type Hex, parseAbi, toHex } from "viem";
import { namehash } from "viem/ens";

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
    // Endless EIP-3668: each callback requests the next look-up.
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
 * Serves the node at `upstream` over JSON-RPC, with its own resolvers in the registry: each hostile name (`loop.eth`
 * and so on) has one that behaves like a contract written for the attack. Counts `eth_call`.
 */
export async function startHostileNode({ upstream, registry }: { upstream: string; registry: Hex }) {
  const gateway = createServer();
  gateway.on("connection", (socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () =>
      socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"),
    );
  });
  const gatewayPort = await listen(gateway);
  const behaviours = Object.entries(behavioursOf(`http://127.0.0.1:${gatewayPort}/{data}`));
  const resolverOf = new Map(behaviours.map(([name], i) => [namehash(name), addressOf(i)]));
  const behaviourOf = new Map(behaviours.map(([, behaviour], i) => [addressOf(i), behaviour]));
  let calls = 0;

  const replyTo = ({ to, data, input }: { to?: string; data?: string; input?: string }) => {
    const target = String(to).toLowerCase();
    const text = data ?? input ?? "0x";
    if (target === registry && text.startsWith(resolverSelector)) {
      const resolver = resolverOf.get(`0x${text.slice(10)}`);
      return resolver && { result: encodeAbiParameters([{ type: "address" }], [resolver]) };
    }
    const behaviour = behaviourOf.get(target as Hex);
    if (behaviour === undefined) return undefined;
    return text.startsWith(supportsInterface) ? { result: word(0) } : behaviour(target as Hex);
  };

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    response.setHeader("content-type", "application/json");
    const { id, method, params } = JSON.parse(body);
    if (method === "eth_call") calls += 1;
    const reply = method === "eth_call" ? replyTo(params[0]) : undefined;
    if (reply !== undefined) return void response.end(JSON.stringify({ jsonrpc: "2.0", id, ...reply }));
    const passed = await fetch(upstream, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    response.writeHead(passed.status).end(await passed.text());
  });
  const port = await listen(server);

  return {
    url: `http://127.0.0.1:${port}`,
    /** `eth_call` requests since the start. */
    calls: () => calls,
    async close() {
      for (const one of [server, gateway]) {
        one.closeAllConnections();
        await new Promise((resolve) => one.close(resolve));
      }
    },
  };
}

const addressOf = (place: number): Hex => `0x${"bad".padEnd(38, "0")}${String(place).padStart(2, "0")}`;

async function listen(server: ReturnType<typeof createServer>): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
