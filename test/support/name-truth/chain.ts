import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type Abi,
  decodeFunctionResult,
  encodeDeployData,
  encodeFunctionData,
  type Hex,
  labelhash,
  namehash,
  numberToHex,
  toHex,
} from "viem";
import { packetToBytes } from "viem/ens";
import { startAnvil } from "../anvil.ts";
import { type Claim, type Contracts, chainId, type NameCalls, type RecordedLog, start } from "./truth.ts";

// A chain with ENS' own contracts, whose time the histories set.

type Compiled = { abi: Abi; bytecode: Hex };

const archived = new URL("../../../node_modules/@ensdomains/ens-archived-contracts/abis/", import.meta.url);
const deployer: Hex = "0x00000000000000000000000000000000000ad317";
const oracle: Hex = "0x0000000000000000000000000000000000073ace";
const root = numberToHex(0, { size: 32 });

/** A chain with ENS' contracts. */
export type TruthChain = Awaited<ReturnType<typeof startTruthChain>>;

/** Starts anvil with ENS' contracts. `folder`: deployments of ens-contracts, as `deployments/mainnet` of its repository has them. */
export async function startTruthChain(folder: string) {
  const options = ["--no-mining", "--auto-impersonate", "--base-fee", "0", "--disable-block-gas-limit"];
  const anvil = await startAnvil(chainId, [...options, "--timestamp", String(start)]);
  const request = (method: string, ...params: unknown[]) =>
    anvil.client.request({ method, params } as never) as Promise<unknown>;
  const compiled = (path: string, isArchived: boolean): Compiled =>
    JSON.parse(
      readFileSync(isArchived ? fileURLToPath(new URL(path, archived)) : join(folder, path), "utf8"),
    );
  const contracts: Partial<Record<keyof Contracts, Hex>> = {};
  const abis = new Map<string, Abi>();
  const logs: RecordedLog[] = [];
  let time = start;

  async function mine(seconds: number) {
    time += seconds;
    await request("evm_setNextBlockTimestamp", time);
    await anvil.client.mine({ blocks: 1 });
  }

  async function transact(from: Hex, transaction: { to?: Hex; data: Hex }) {
    const fees = { gas: "0xf42400", gasPrice: "0x0" };
    const hash = (await request("eth_sendTransaction", { from, ...transaction, ...fees })) as Hex;
    await mine(12);
    const receipt = await anvil.client.getTransactionReceipt({ hash });
    if (receipt.status !== "success")
      throw new Error(`A transaction failed: ${transaction.data.slice(0, 10)}`);
    for (const { address, topics, data, logIndex } of receipt.logs) {
      const block = Number(receipt.blockNumber);
      logs.push({ address, topics, data, block, index: logIndex, transaction: hash, sender: from });
    }
    return receipt;
  }

  async function deploy(
    name: keyof Contracts,
    path: string,
    args: readonly unknown[] = [],
    isArchived = false,
  ) {
    const { abi, bytecode } = compiled(path, isArchived);
    const { contractAddress } = await transact(deployer, { data: encodeDeployData({ abi, bytecode, args }) });
    contracts[name] = contractAddress?.toLowerCase() as Hex;
    abis.set(name, abi);
  }

  const addressOf = (name: keyof Contracts): Hex => {
    const address = contracts[name];
    if (address === undefined) throw new Error(`${name} is not deployed`);
    return address;
  };

  /** Sends a call to a contract, in a block of its own. */
  function send(from: Hex, name: keyof Contracts, functionName: string, ...args: unknown[]) {
    const abi = abis.get(name) ?? [];
    return transact(from, { to: addressOf(name), data: encodeFunctionData({ abi, functionName, args }) });
  }

  /** What a call returns at the newest block, or at another time on its state; null if it fails. */
  async function call(name: keyof Contracts, functionName: string, args: readonly unknown[], at = time) {
    const abi = abis.get(name) ?? [];
    const to = addressOf(name);
    try {
      const data = (await request(
        "eth_call",
        { to, data: encodeFunctionData({ abi, functionName, args }) },
        "latest",
        {},
        { time: numberToHex(at) },
      )) as Hex;
      return decodeFunctionResult({ abi, functionName, args, data });
    } catch {
      return null;
    }
  }

  await deploy("oldRegistry", "ens/ENSRegistry.json", [], true);
  await deploy("registry", "ens/ENSRegistryWithFallback.json", [addressOf("oldRegistry")], true);
  await deploy(
    "registrar",
    "ethregistrar/BaseRegistrarImplementation.json",
    [addressOf("registry"), namehash("eth")],
    true,
  );
  await deploy("reverseRegistrar", "ReverseRegistrar.json", [addressOf("registry")]);
  await send(deployer, "registry", "setSubnodeOwner", root, labelhash("reverse"), deployer);
  const reverse = namehash("reverse");
  await send(
    deployer,
    "registry",
    "setSubnodeOwner",
    reverse,
    labelhash("addr"),
    addressOf("reverseRegistrar"),
  );
  await deploy("wrapper", "NameWrapper.json", [addressOf("registry"), addressOf("registrar"), deployer]);
  const trusted = [deployer, addressOf("reverseRegistrar")];
  await deploy("resolver", "PublicResolver.json", [addressOf("registry"), addressOf("wrapper"), ...trusted]);
  await send(deployer, "reverseRegistrar", "setDefaultResolver", addressOf("resolver"));
  await send(deployer, "registry", "setSubnodeOwner", root, labelhash("eth"), addressOf("registrar"));
  for (const controller of [deployer, addressOf("wrapper")])
    await send(deployer, "registrar", "addController", controller);
  // Everything is free.
  await anvil.client.setCode({ address: oracle, bytecode: "0x60406000f3" });
  const controlled = [60, 86_400, addressOf("reverseRegistrar"), addressOf("wrapper"), addressOf("registry")];
  await deploy("controller", "ETHRegistrarController.json", [addressOf("registrar"), oracle, ...controlled]);
  for (const controller of [deployer, addressOf("controller")])
    await send(deployer, "wrapper", "setController", controller, true);
  await deploy("universalResolver", "UniversalResolver.json", [addressOf("registry"), []]);

  return {
    contracts: contracts as Contracts,
    logs,
    deployer,
    send,
    call,
    time: () => time,
    block: () => anvil.head(),
    timeOf: async (block: number) =>
      Number((await anvil.client.getBlock({ blockNumber: BigInt(block) })).timestamp),
    close: anvil.close,

    /** Mines an empty block at a time. */
    async goTo(at: number) {
      if (at <= time) throw new Error(`It is ${time} already`);
      await mine(at - time);
    },

    /** What the contracts say of a name now. */
    async read(name: string): Promise<NameCalls> {
      const node = namehash(name);
      const [label = "", ...above] = name.split(".");
      const text = async (...asked: Parameters<typeof call>) => {
        const found = await call(...asked);
        return found === null ? null : String(found).toLowerCase();
      };
      const leased = above.join(".") === "eth";
      const id = BigInt(labelhash(label));
      const expires = leased ? Number(await call("registrar", "nameExpires", [id])) : 0;
      const data = (await call("wrapper", "getData", [BigInt(node)])) as [Hex, number, bigint];
      const wrapperExpires = data[2];
      const beforeEnd = wrapperExpires > 0n && wrapperExpires < BigInt(time) ? Number(wrapperExpires) : time;
      return {
        registry: {
          owner: await text("registry", "owner", [node]),
          resolver: await text("registry", "resolver", [node]),
          isMigrated: (await call("registry", "recordExists", [node])) === true,
        },
        ...(leased && expires > 0
          ? {
              registrar: {
                expires,
                isAvailable: (await call("registrar", "available", [id])) === true,
                owner: await text("registrar", "ownerOf", [id]),
                lastOwner: await text("registrar", "ownerOf", [id], Math.min(time, expires - 1)),
              },
            }
          : {}),
        wrapper: {
          isWrapped: (await call("wrapper", "isWrapped", [node])) === true,
          // The constructor writes that of eth itself.
          isKnown: name !== "eth" && (await call("wrapper", "names", [node])) !== "0x",
          owner: data[0].toLowerCase() as Hex,
          fuses: data[1],
          expires: String(wrapperExpires),
          lastOwner: (await text("wrapper", "ownerOf", [BigInt(node)], beforeEnd)) as Hex,
        },
        records: {
          addr: await text("resolver", "addr", [node]),
          bitcoin: ((await call("resolver", "addr", [node, 0n])) as string | null) ?? "0x",
          url: ((await call("resolver", "text", [node, "url"])) as string | null) ?? "",
          contenthash: ((await call("resolver", "contenthash", [node])) as string | null) ?? "0x",
          name: ((await call("resolver", "name", [node])) as string | null) ?? "",
        },
      };
    },

    /** The primary name of an account, and the address that it resolves to. */
    async claimOf(account: Hex): Promise<Claim> {
      const reverse = `${account.slice(2)}.addr.reverse`;
      const name = String((await call("resolver", "name", [namehash(reverse)])) ?? "");
      const found = await call("universalResolver", "reverse", [toHex(packetToBytes(reverse))]);
      const [verified, address] = (found as [string, Hex] | null) ?? [];
      return { name, resolvesTo: verified === name && address ? address.toLowerCase() : null };
    },
  };
}
