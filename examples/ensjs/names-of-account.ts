// The names of an account, and the records of one of them, with viem and ensjs: only the subgraph's URL differs from
// ENS's own.
//
//   node examples/ensjs/names-of-account.ts <address> <name>
import { addEnsContracts } from "@ensdomains/ensjs";
import { getNamesForAddress, getSubgraphRecords } from "@ensdomains/ensjs/subgraph";
import { createPublicClient, http, isAddress } from "viem";
import { mainnet } from "viem/chains";

const indexUrl = process.env["INDEX_URL"] ?? "http://localhost:42069";
const [address = "", name = ""] = process.argv.slice(2);
if (!isAddress(address) || name === "") throw new Error("usage: names-of-account.ts <address> <name>");

const chain = { ...addEnsContracts(mainnet), subgraphs: { ens: { url: `${indexUrl}/subgraph` } } };
const client = createPublicClient({ chain, transport: http() });

const names = await getNamesForAddress(client, { address, filter: { owner: true, registrant: true } });
for (const { name: own, expiryDate } of names)
  console.log(own, expiryDate?.date?.toISOString() ?? "no expiry");

const records = await getSubgraphRecords(client, { name });
console.log(
  `${name} has texts ${records?.texts.join(", ")} and addresses of coins ${records?.coins.join(", ")}`,
);
