import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { createTestClient, type Hex, http, publicActions, walletActions } from "viem";
import { freePort } from "../../devnet/ports.ts";
import { waitFor } from "../../devnet/wait.ts";

const program = fileURLToPath(new URL("../../node_modules/.bin/anvil", import.meta.url));

/** A local chain with a real EVM, a block each second; `stop` ends it. */
export async function startLiveChain(chainId: number) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(
    program,
    ["--port", `${port}`, "--chain-id", `${chainId}`, "--block-time", "1", "--silent"],
    {
      stdio: "ignore",
    },
  );
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const client = createTestClient({ mode: "anvil", transport: http(url) })
    .extend(publicActions)
    .extend(walletActions);
  await waitFor("anvil", async () => {
    try {
      return { done: await client.getBlockNumber() };
    } catch {
      return { state: "it does not answer yet" };
    }
  });
  const [account] = await client.getAddresses();
  if (account === undefined) throw new Error("anvil has no accounts");

  return {
    url,
    client,
    /** Sends a call and waits until it is in a block; answers the block's number. */
    async send(to: Hex, data: Hex): Promise<number> {
      const hash = await client.sendTransaction({ account, to, data, chain: null });
      const { blockNumber } = await client.waitForTransactionReceipt({ hash, pollingInterval: 100 });
      return Number(blockNumber);
    },
    async stop() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
