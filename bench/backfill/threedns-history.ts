import { encodeFunctionData, encodeFunctionResult, type Hex, namehash } from "viem";
import { threednsDnsResolverAbi, threednsMetadataAbi, threednsTokenAbi } from "../../abis/names.ts";
import { emits, logsOf } from "../../devnet/events.ts";
import { createRandom, type Random } from "../../devnet/random.ts";
import { dnsName, textKeys } from "./deployment.ts";
import {
  accountOf,
  addressOf,
  type History,
  hashOf,
  historyOf,
  rootNode,
  subnodeOf,
  type Transaction,
  year,
  zero,
} from "./made-up.ts";

const created = logsOf(threednsTokenAbi, "RegistrationCreated");
const extended = logsOf(threednsTokenAbi, "RegistrationExtended");
const dnsRecordChanged = logsOf(threednsDnsResolverAbi, "DNSRecordChanged");

const box = namehash("box");
const addressRecord = 1;

type Token = { name: string; node: Hex; owner: Hex; expires: bigint };
type Box = {
  random: Random;
  token: Hex;
  resolver: Hex;
  /** Prefix of its labels, except those that also exist on the other chain. */
  prefix: string;
  tokens: Token[];
  labels: string[];
  calls: History["calls"];
};

/**
 * A history of 3DNS names of one chain: tokens with records, and subnames whose label only the token's metadata
 * contains. Every eighth name also exists on the other chain.
 */
export function threednsHistory(datasource: "threednsOptimism" | "threednsBase", count: number): History {
  const random = createRandom(datasource === "threednsBase" ? 5 : 6);
  const token = addressOf(datasource, "ThreeDNSToken");
  const chain: Box = {
    random,
    token,
    resolver: addressOf(datasource, "Resolver"),
    prefix: datasource === "threednsBase" ? "onbase" : "onop",
    tokens: [],
    labels: ["box"],
    calls: new Map(),
  };
  answerUri(chain, box, "box");
  const first = { from: accountOf(0), logs: [emits.newOwner(token, rootNode, hashOf("box"), accountOf(0))] };
  const transactions = historyOf(count, [first], () =>
    chain.tokens.length < 20 || random.below(2) === 0
      ? register(chain)
      : change(chain, random.below(100), random.pick(chain.tokens)),
  );
  return { transactions, labels: chain.labels, calls: chain.calls };
}

function answerUri({ token, calls }: Box, node: Hex, name: string): void {
  const args = [BigInt(node)] as const;
  const json = JSON.stringify({ name: `${name}.`, description: `The name ${name}.` });
  const result = `data:application/json;base64,${Buffer.from(json).toString("base64")}`;
  const abi = threednsMetadataAbi;
  calls.set(
    `${token} ${encodeFunctionData({ abi, functionName: "uri", args })}`,
    encodeFunctionResult({ abi, functionName: "uri", result }),
  );
}

function register(chain: Box): Transaction {
  const { random, token, resolver, prefix, tokens, labels } = chain;
  const place = tokens.length;
  const label = `${place % 8 === 0 ? "both" : prefix}${place}`;
  const labelhash = hashOf(label);
  const owner = accountOf(random.below(place + 50) >> 2);
  const node = subnodeOf(box, labelhash);
  const expires = 1_900_000_000n + BigInt(random.below(1_000_000));
  const name = `${label}.box`;
  tokens.push({ name, node, owner, expires });
  labels.push(label);
  answerUri(chain, node, name);
  return {
    from: owner,
    logs: [
      created(token, node, box, dnsName(name), owner, 0, expires),
      emits.newOwner(token, box, labelhash, owner),
      emits.wrappedTransfer(token, owner, zero, owner, BigInt(node), 1n),
      emits.addressChanged(resolver, node, 60n, owner),
      emits.addrChanged(resolver, node, owner),
    ],
  };
}

function change(chain: Box, kind: number, held: Token): Transaction {
  const { random, token, resolver, tokens } = chain;
  const { node, owner } = held;
  if (kind < 30) {
    held.expires += year;
    return { from: owner, logs: [extended(token, node, year, held.expires)] };
  }
  if (kind < 50) {
    held.owner = accountOf(random.below(tokens.length + 50) >> 2);
    return {
      from: owner,
      logs: [
        emits.wrappedTransfer(token, owner, owner, held.owner, BigInt(node), 1n),
        emits.registryTransfer(token, node, held.owner),
      ],
    };
  }
  if (kind < 70) {
    const key = random.pick(textKeys);
    return {
      from: owner,
      logs: [emits.textChanged(resolver, node, key, key, `value ${random.below(1000)}`)],
    };
  }
  if (kind < 80) {
    const record: Hex = `0x${random.hexDigits(24)}`;
    return {
      from: owner,
      logs: [dnsRecordChanged(resolver, node, dnsName(held.name), addressRecord, 300, record)],
    };
  }
  const label = `sub${random.below(5)}`;
  answerUri(chain, subnodeOf(node, hashOf(label)), `${label}.${held.name}`);
  return { from: owner, logs: [emits.newOwner(token, node, hashOf(label), owner)] };
}
