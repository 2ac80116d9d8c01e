import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, expect, test } from "vitest";
import { startNode } from "../../devnet/node.ts";
import { datasourcesFile, lastBlocks, recordingAs, recordingOf } from "../../test/support/recordings.ts";
import type { IndexedChain } from "../config/chains.ts";
import { applyDatasourcesFile } from "../config/datasources-file.ts";
import { namespaces } from "../deployments/namespaces.ts";
import { createReadsOf } from "../indexing/reads-of-logs.ts";
import { openNodes } from "./ask.ts";
import { estimateRecording } from "./estimate.ts";

const closing: (() => unknown)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

const nodesOf = (id: number, url: string) =>
  openNodes({ id, name: "one", rpc: { http: [url] } } as never, { perSecond: 2_000, log: () => {} });

test("an answer is read up to the limits of its request, and a node's error keeps its code", async () => {
  let sent = 0;
  const chunk = "0".repeat(65_536);
  const server = createServer(async (incoming, response) => {
    let body = "";
    for await (const part of incoming) body += part;
    const { method } = JSON.parse(body) as { method: string };
    if (method === "eth_chainId") return void response.end('{"result":"0x7"}');
    if (method === "eth_getTransactionReceipt") return;
    if (method === "eth_call")
      return void response.end('{"error":{"code":-32000,"message":"missing trie node"}}');
    response.write('{"result":"0x');
    const more = () => {
      if (response.destroyed) return;
      sent += chunk.length;
      response.write(chunk, more);
    };
    more();
  });
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { ask } = nodesOf(7, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const trace = { method: "debug_traceTransaction", params: ["0x01", {}], maxBytes: 1_000_000 };
  await expect(ask(trace)).rejects.toMatchObject({ code: "too long", message: "more than 1000000 bytes" });
  expect(sent).toBeLessThan(100_000_000);
  const silent = { method: "eth_getTransactionReceipt", params: ["0x01"], timeoutMs: 50 };
  await expect(ask(silent)).rejects.toThrow("due to timeout");
  await expect(ask({ method: "eth_call", params: [{}, "0x1"] })).rejects.toMatchObject({
    code: -32_000,
    message: "missing trie node",
  });
});

test("an estimate includes the calls that rules make because of the sampled logs, and receipts", async () => {
  const recording = recordingOf("root");
  const { chainId } = recording;
  const node = await startNode({ recording });
  closing.push(() => node.close());
  const { ask } = nodesOf(chainId, node.url);
  const gaps = [{ from: 0, to: lastBlocks.root, filters: [{ addresses: null, topics: null }] }];
  const datasources = applyDatasourcesFile("ens-test-env", namespaces["ens-test-env"], datasourcesFile());
  const createReads = () => createReadsOf({ chainId, rootChainId: chainId, datasources });
  const without = await estimateRecording(ask, gaps, { withReceipts: false, createReads: undefined });
  const { logs, requests } = await estimateRecording(ask, gaps, { withReceipts: false, createReads });
  expect(logs).toBe(without.logs);
  // The samples cover nearly all blocks of the recording, which has these calls.
  const calls = recording.calls.length;
  expect(requests - without.requests).toBeGreaterThan(calls / 2);
  expect(requests - without.requests).toBeLessThan(calls * 2);
  const whole = await estimateRecording(ask, gaps, { withReceipts: true, createReads: undefined });
  const blocks = new Set(
    recording.receipts.flatMap(({ logs, blockNumber }) => (logs as []).map(() => blockNumber)),
  ).size;
  expect(whole.requests - without.requests).toBeGreaterThan(blocks / 2);
  expect(whole.requests - without.requests).toBeLessThan(blocks * 2);
  expect(whole.bytes).toBeGreaterThan(without.bytes);
});

test("the transactions of a local chain may be signed for another one, those of a public chain may not", async () => {
  const { chainId } = recordingOf("base");
  const node = await startNode({ recording: { ...recordingAs("base", 1), chainId } });
  closing.push(() => node.close());
  const chain = { id: chainId, name: "base", rpc: { http: [node.url] } };
  const block = { method: "eth_getBlockByNumber", params: ["0x64", true] };
  const nodes = (one: IndexedChain) => openNodes(one, { perSecond: 2_000, log: () => {} });
  await expect(nodes(chain).ask(block)).rejects.toThrow("answers for chain 1, not for chain");
  expect(await nodes({ ...chain, isLocal: true }).ask(block)).toMatchObject({ number: "0x64" });
});
