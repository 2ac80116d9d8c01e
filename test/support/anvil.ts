import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  type Abi,
  concatHex,
  createTestClient,
  encodeDeployData,
  encodeFunctionData,
  type Hex,
  http,
  labelhash,
  namehash,
  numberToHex,
  publicActions,
  size,
  walletActions,
} from "viem";
import type { EmittedLog } from "../../devnet/events.ts";
import { freePort } from "../../devnet/ports.ts";
import { waitFor } from "../../devnet/wait.ts";

const binary = fileURLToPath(
  new URL("../../node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil", import.meta.url),
);

/** Whether the EVM node of the optional dependency is installed and runs here; logs it if it does not. */
export function hasAnvil(): boolean {
  const isThere = existsSync(binary) && process.platform === "linux" && process.arch === "x64";
  if (!isThere)
    console.log("anvil is not installed for this platform: the tests on a real EVM node do not run.");
  return isThere;
}

/** A chain with a real EVM whose contracts emit any logs; it mines on request. */
export type EmittingChain = Awaited<ReturnType<typeof startEmittingChain>>;

/**
 * Starts anvil with contracts whose code emits the logs in their call data: the test decides what they emit, the EVM
 * makes blocks, blooms, hashes and receipts of it.
 */
export async function startEmittingChain(chainId: number, contracts: readonly Hex[]) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const options = [
    ...["--port", String(port), "--chain-id", String(chainId), "--silent", "--no-mining", "--order", "fifo"],
    ...["--base-fee", "0", "--auto-impersonate", "--disable-block-gas-limit"],
  ];
  const child = spawn(binary, options, { stdio: "ignore" });
  const client = createTestClient({ mode: "anvil", transport: http(url) })
    .extend(publicActions)
    .extend(walletActions);
  await waitFor("anvil", async () => ({ done: await client.getBlockNumber() }));
  const head = async () => Number(await client.getBlockNumber({ cacheTime: 0 }));
  const request = (method: string, ...params: unknown[]) => client.request({ method, params } as never);
  let nonce = 0;
  const setCodes = async () => {
    for (const address of [emitter, ...contracts]) await client.setCode({ address, bytecode: emitterCode });
  };
  await setCodes();
  return {
    ...{ url, client, head, request },
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },

    /** Mines one block with one transaction for each list of logs. */
    async mine(transactions: readonly (readonly EmittedLog[])[] = []) {
      for (const logs of transactions) {
        const data = concatHex(["0xff", ...logs.map(record)]);
        const fees = { gas: "0x989680", gasPrice: "0x0", nonce: numberToHex(nonce++) };
        await request("eth_sendTransaction", { from: sender, to: emitter, data, ...fees });
      }
      await client.mine({ blocks: 1 });
    },

    /** Drops the newest `depth` blocks; the next ones are another branch. */
    async goBack(depth: number) {
      const blockNumber = BigInt((await head()) - depth);
      await request("anvil_rollback", depth);
      nonce = await client.getTransactionCount({ address: sender, blockNumber });
      // Anvil forgets code that no transaction wrote once it goes back to a state that it no longer holds in memory.
      await setCodes();
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

// ENS' own contracts, as they were compiled for mainnet in 2020.
const archived = fileURLToPath(
  new URL("../../node_modules/@ensdomains/ens-archived-contracts/abis/", import.meta.url),
);

type Compiled = { abi: Abi; bytecode: Hex };

/** The account that owns everything. */
const deployer: Hex = "0x00000000000000000000000000000000000ad317";

/**
 * Deploys ENS' contracts on a chain, each transaction in a block of its own; `register` sends them what registers a
 * name.
 */
export async function deployEns({ client, request, mine }: EmittingChain) {
  let nonce = await client.getTransactionCount({ address: deployer });

  async function send(transaction: { to?: Hex; data: Hex }) {
    const fees = { gas: "0x7a1200", gasPrice: "0x0", nonce: numberToHex(nonce++) };
    const hash = (await request("eth_sendTransaction", { from: deployer, ...transaction, ...fees })) as Hex;
    await mine();
    const receipt = await client.getTransactionReceipt({ hash });
    if (receipt.status !== "success")
      throw new Error(`The transaction ${transaction.data.slice(0, 10)} failed.`);
    return receipt;
  }
  async function deploy(path: string, args: readonly unknown[] = []) {
    const { abi, bytecode } = JSON.parse(readFileSync(`${archived}${path}`, "utf8")) as Compiled;
    const { contractAddress } = await send({ data: encodeDeployData({ abi, bytecode, args }) });
    if (!contractAddress) throw new Error(`${path} was not deployed.`);
    const call = (functionName: string, ...values: unknown[]) =>
      send({ to: contractAddress, data: encodeFunctionData({ abi, functionName, args: values }) });
    return { address: contractAddress, call };
  }

  const registry = await deploy("ens/ENSRegistry.json");
  const ofEth = [registry.address, namehash("eth")];
  const registrar = await deploy("ethregistrar/BaseRegistrarImplementation.json", ofEth);
  const resolver = await deploy("resolver/PublicResolver.json", [registry.address]);
  await registry.call("setSubnodeOwner", numberToHex(0, { size: 32 }), labelhash("eth"), registrar.address);
  await registrar.call("addController", deployer);
  return {
    addresses: { registry: registry.address, registrar: registrar.address, resolver: resolver.address },

    /** Registers a name under .eth for a year, with resolver, TTL, address and content hash. */
    async register(label: string, address: Hex) {
      const node = namehash(`${label}.eth`);
      await registrar.call("register", BigInt(labelhash(label)), deployer, 31_536_000n);
      await registry.call("setResolver", node, resolver.address);
      await registry.call("setTTL", node, 3_600n);
      await resolver.call("setAddr", node, address);
      await resolver.call("setContenthash", node, `0xe301${address.slice(2)}`);
    },
  };
}
