import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RpcError } from "../../devnet/rpc/methods.ts";
import { serveRpc } from "../../devnet/rpc/server.ts";
import { parseEnvironment } from "../../src/config/environment.ts";
import { formatSpan } from "../plan.ts";
import { measureDisk, measureProcessor, measureUrl } from "./measure.ts";

const block = { logsBloom: `0x${"1".repeat(512)}`, transactions: ["0x1"] };
let node: Awaited<ReturnType<typeof serveRpc>>;
beforeAll(async () => {
  const logsOf = ([filter]: unknown[]) => {
    const { fromBlock, toBlock } = filter as Record<string, string>;
    if (Number(toBlock) - Number(fromBlock) < 2_000) return [{}];
    throw new RpcError({ code: -32_005, message: "range too wide" });
  };
  node = await serveRpc({
    methods: new Map<string, (params: unknown[]) => unknown>([
      ["eth_blockNumber", () => "0x16e3600"],
      ["eth_getBlockByNumber", () => block],
      ["eth_getLogs", logsOf],
    ]),
  });
});
afterAll(() => node.close());

test("a URL is measured by few requests, and its largest range of logs is found", async () => {
  const config = parseEnvironment(
    { NAMESPACE: "mainnet", PLUGINS: "subgraph", LABELS_URL: "file:x", RPC_URL_1: node.url },
    () => "",
  );
  const measured = await measureUrl(node.url, "mainnet", config);
  expect(measured).toMatchObject({
    head: 24_000_000,
    first: 3_327_417,
    largestRange: 2_000,
    lack: undefined,
  });
  expect(measured.perSecond).toBeGreaterThan(0);
  expect(node.counts()).toEqual({ eth_blockNumber: 1, eth_getBlockByNumber: 41, eth_getLogs: 3 });
});

test("processor and disk are measured, and nothing is left behind", async () => {
  expect(measureProcessor()).toBeGreaterThan(0);
  const { bytesPerSecond, freeBytes } = await measureDisk(join(tmpdir(), "nowhere", "yet"));
  expect(Math.min(bytesPerSecond, freeBytes)).toBeGreaterThan(0);
});

test.each([
  [[3_408_136, 9_940_398], "3.4 M to 9.9 M"],
  [[23_856_957, 23_856_957], "24 M"],
  [[340.8, 3_976], "340 to 4,000"],
  [[0, 0.0449], "0 to 0.045"],
] as const)("the span %o is shown as %s", (span, text) => expect(formatSpan(span)).toBe(text));
