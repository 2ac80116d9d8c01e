import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { concatHex, type Hex, numberToHex, size } from "viem";
import type { EmittedLog } from "../../devnet/events.ts";
import { freePort } from "../../devnet/ports.ts";
import { waitFor } from "../../devnet/wait.ts";

const binary = fileURLToPath(
  new URL("../../node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil", import.meta.url),
);

/** Whether the EVM node of the optional dependency is installed and runs here; says so where it does not. */
export function hasAnvil(): boolean {
  const isThere = existsSync(binary) && process.platform === "linux" && process.arch === "x64";
  if (!isThere)
    console.log("anvil is not installed for this platform: the tests on a real EVM node do not run.");
  return isThere;
}

/** A real EVM node without recorded history that mines when told to, and emits any logs. */
export type Anvil = Awaited<ReturnType<typeof startAnvil>>;

/**
 * Starts anvil with this chain id. The contracts get code that emits the logs that its call data names: the test
 * decides what they emit, the EVM makes blocks, blooms, hashes and receipts of it.
 */
export async function startAnvil({ chainId, contracts }: { chainId: number; contracts: readonly Hex[] }) {
  const port = await freePort();
  const options = ["--no-mining", "--order", "fifo", "--auto-impersonate", "--disable-block-gas-limit"];
  const child: ChildProcess = spawn(
    binary,
    ["--port", String(port), "--chain-id", String(chainId), "--base-fee", "0", "--silent", ...options],
    { stdio: "ignore" },
  );
  const url = `http://127.0.0.1:${port}`;
  let nonce = 0;

  async function request<Result = unknown>(method: string, ...params: unknown[]): Promise<Result> {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    const { result, error } = (await response.json()) as { result: Result; error?: { message: string } };
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  await waitFor("anvil", async () => ({ done: await request("eth_chainId") }));
  for (const address of [emitter, ...contracts]) await request("anvil_setCode", address, emitterCode);

  return {
    url,
    request,
    head: async () => Number(await request<Hex>("eth_blockNumber")),

    /** Mines one block with one transaction for each list of logs. */
    async mine(transactions: readonly (readonly EmittedLog[])[] = []) {
      for (const logs of transactions) {
        await request("eth_sendTransaction", {
          from: sender,
          to: emitter,
          data: concatHex(["0xff", ...logs.map(record)]),
          gas: "0x989680",
          gasPrice: "0x0",
          nonce: numberToHex(nonce++),
        });
      }
      await request("evm_mine");
    },

    /** Forgets the newest `depth` blocks; the next ones are another branch. */
    async goBack(depth: number) {
      const now = Number(await request<Hex>("eth_blockNumber"));
      await request("anvil_rollback", depth);
      nonce = Number(await request<Hex>("eth_getTransactionCount", sender, numberToHex(now - depth)));
    },

    async close() {
      if (child.exitCode !== null) return;
      const exited = once(child, "exit");
      child.kill();
      await exited;
    },
  };
}

const sender: Hex = "0x00000000000000000000000000000000000e3173";
/** The account whose code emits logs. */
export const emitter: Hex = "0x00000000000000000000000000000000000e3174";

// Call data 00 to 04: a log with that many topics, the topics, then the data. Call data ff: records of target address,
// length (3 bytes) and payload, each made to a call. 177 bytes of EVM code; needs PUSH0 (Shanghai).
const emitterCode: Hex =
  "0x361560af575f3560f81c8060ff146076578060041060af578060051b60010180360380825f3782156071578260011460695782600214605e5782600314605057606135604135602135600135845fa4005b604135602135600135835fa3005b602135600135825fa2005b600135815fa1005b805fa0005b60015b3681101560af57803560601c816014013560e81c8260170181905f375f5f825f5f865af11560ab579050016017016079565b5f5ffd5b00";

function record({ address, topics, data }: EmittedLog): Hex {
  const payload = concatHex([numberToHex(topics.length, { size: 1 }), ...topics, data]);
  return concatHex([address, numberToHex(size(payload), { size: 3 }), payload]);
}
