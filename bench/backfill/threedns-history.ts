import { encodeFunctionData, encodeFunctionResult, type Hex, namehash, parseAbi } from "viem";
import { createRandom } from "../../devnet/random.ts";
import { dnsName, emits, textKeys } from "./deployment.ts";
import { eventOf } from "./event.ts";
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

const created = eventOf(
  "RegistrationCreated(bytes32 indexed node, bytes32 indexed tld, bytes fqdn, address registrant, uint32 controlBitmap, uint64 expiry)",
);
const extended = eventOf(
  "RegistrationExtended(bytes32 indexed node, uint64 indexed duration, uint64 indexed newExpiry)",
);
const dnsRecordChanged = eventOf(
  "DNSRecordChanged(bytes32 indexed node, bytes name, uint16 resource, uint32 ttl, bytes record)",
);
const uriAbi = parseAbi(["function uri(uint256 tokenId) view returns (string)"]);

const box = namehash("box");
const addressRecord = 1;

type Token = { name: string; node: Hex; owner: Hex; expires: bigint };

/**
 * A history of 3DNS names of one chain: tokens with records, and subnames whose label only the token's metadata tells.
 * Every eighth name is on the other chain too.
 */
export function threednsHistory(datasource: "threednsOptimism" | "threednsBase", count: number): History {
  const random = createRandom(datasource === "threednsBase" ? 5 : 6);
  const token = addressOf(datasource, "ThreeDNSToken");
  const resolver = addressOf(datasource, "Resolver");
  const calls: History["calls"] = new Map();
  const tokens: Token[] = [];
  const labels: string[] = [];

  function answerUri(node: Hex, name: string): void {
    const args = [BigInt(node)] as const;
    const json = JSON.stringify({ name: `${name}.`, description: `The name ${name}.` });
    const result = `data:application/json;base64,${Buffer.from(json).toString("base64")}`;
    calls.set(
      `${token} ${encodeFunctionData({ abi: uriAbi, functionName: "uri", args })}`,
      encodeFunctionResult({ abi: uriAbi, functionName: "uri", result }),
    );
  }

  function register(): Transaction {
    const place = tokens.length;
    const label = `${place % 8 === 0 ? "both" : datasource === "threednsBase" ? "onbase" : "onop"}${place}`;
    const labelhash = hashOf(label);
    const owner = accountOf(random.below(place + 50) >> 2);
    const node = subnodeOf(box, labelhash);
    const expires = 1_900_000_000n + BigInt(random.below(1_000_000));
    const name = `${label}.box`;
    tokens.push({ name, node, owner, expires });
    labels.push(label);
    answerUri(node, name);
    return {
      from: owner,
      logs: [
        created(token, node, box, dnsName(name), owner, 0, expires),
        emits.newOwner(token, box, labelhash, owner),
        emits.tokensTransfer(token, owner, zero, owner, BigInt(node), 1n),
        emits.addressChanged(resolver, node, 60n, owner),
        emits.addrChanged(resolver, node, owner),
      ],
    };
  }

  function change(kind: number, held: Token): Transaction {
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
          emits.tokensTransfer(token, owner, owner, held.owner, BigInt(node), 1n),
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
      const record = `0x${random.hexDigits(24)}` as Hex;
      return {
        from: owner,
        logs: [dnsRecordChanged(resolver, node, dnsName(held.name), addressRecord, 300, record)],
      };
    }
    const label = `sub${random.below(5)}`;
    answerUri(subnodeOf(node, hashOf(label)), `${label}.${held.name}`);
    return { from: owner, logs: [emits.newOwner(token, node, hashOf(label), owner)] };
  }

  answerUri(box, "box");
  const first = { from: accountOf(0), logs: [emits.newOwner(token, rootNode, hashOf("box"), accountOf(0))] };
  const transactions = historyOf(count, [first], () =>
    tokens.length < 20 || random.below(2) === 0 ? register() : change(random.below(100), random.pick(tokens)),
  );
  return { transactions, labels: ["box", ...labels], calls };
}
