// Votes by name: each name below a parent is one vote of whoever held it at the proposal's time. Holders sign ballots
// (EIP-712), and the index says who they were. Later transfers and registrations change nothing.
//
//   npm run -s example -- voting
//
// The index must have the rows of that time: HISTORY_BLOCKS (docs/operations.md#read-the-past).
import { fileURLToPath } from "node:url";
import { type Hex, keccak256, stringToHex, verifyTypedData } from "viem";
import { type HDAccount, mnemonicToAccount } from "viem/accounts";
import { type Client, createClient, type LookupResult } from "../../client/src/index.ts";

export type Proposal = {
  question: string;
  choices: readonly string[];
  /** Names directly below it vote, such as `eth` or `linea.eth`. */
  parent: string;
  /** Unix seconds: who holds a name then votes with it. */
  at: number;
};

/** `choice`: its position among those of the proposal. */
export type Ballot = { voter: Hex; name: string; choice: number; signature: Hex };

/** What becomes of a ballot. */
export type Verdict =
  | "counted"
  | "no such choice"
  | "wrong signature"
  | "not a name of the vote"
  | "not held by the voter"
  | "the name has voted";

/** What a voter signs. It names the whole proposal, so that no ballot counts for another one. */
export const toTypedData = (proposal: Proposal, { name, choice }: Pick<Ballot, "name" | "choice">) =>
  ({
    domain: { name: "Votes by name", version: "1" },
    types: {
      Ballot: [
        { name: "proposal", type: "bytes32" },
        { name: "name", type: "string" },
        { name: "choice", type: "uint32" },
      ],
    },
    primaryType: "Ballot",
    message: { proposal: keccak256(stringToHex(JSON.stringify(proposal))), name, choice },
  }) as const;

/** The votes for each choice, and what became of each ballot. The first ballot of a name counts. */
export async function tally(index: Client, proposal: Proposal, ballots: readonly Ballot[]) {
  // One request for up to 500 names.
  const results = await index.names(
    ballots.map(({ name }) => name),
    { at: proposal.at },
  );
  const votes = proposal.choices.map(() => 0);
  const voted = new Set<Hex>();
  const verdicts: Verdict[] = [];
  for (const [position, ballot] of ballots.entries()) {
    const { record } = results[position] as LookupResult;
    const verdict = await judge();
    verdicts.push(verdict);
    if (verdict === "counted") votes[ballot.choice] = (votes[ballot.choice] ?? 0) + 1;

    async function judge(): Promise<Verdict> {
      if (proposal.choices[ballot.choice] === undefined) return "no such choice";
      if (!(await isSigned(proposal, ballot))) return "wrong signature";
      const parent = record?.name.slice(record.name.indexOf(".") + 1);
      if (record?.status !== "active" || parent !== proposal.parent) return "not a name of the vote";
      if (record.owner !== ballot.voter.toLowerCase()) return "not held by the voter";
      // Texts such as Alice.eth and alice.eth are one name.
      if (voted.has(record.namehash)) return "the name has voted";
      voted.add(record.namehash);
      return "counted";
    }
  }
  return { votes, verdicts };
}

/** Whether the voter's key has signed a ballot. For contracts that vote (ERC-1271) ask a viem client instead. */
async function isSigned(proposal: Proposal, { voter, signature, ...ballot }: Ballot): Promise<boolean> {
  try {
    return await verifyTypedData({ address: voter, signature, ...toTypedData(proposal, ballot) });
  } catch {
    return false; // No signature or address at all.
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const index = createClient({ url: process.env["INDEX_URL"] ?? "http://localhost:42069" });
  const proposal: Proposal = {
    question: "Shall the demo go on?",
    choices: ["yes", "no"],
    parent: "eth",
    at: Math.floor(Date.now() / 1_000) - 10,
  };
  // Accounts of every local Ethereum node; the second holds names of the demo.
  const [stranger, holder] = [0, 1].map((addressIndex) =>
    mnemonicToAccount(`${"test ".repeat(11)}junk`, { addressIndex }),
  ) as [HDAccount, HDAccount];
  const vote = async (account: HDAccount, name: string, choice: number): Promise<Ballot> => {
    const signature = await account.signTypedData(toTypedData(proposal, { name, choice }));
    return { voter: account.address, name, choice, signature };
  };
  const ballots = [
    await vote(holder, "agent.eth", 0),
    await vote(holder, "locked.eth", 1),
    await vote(holder, "Agent.eth", 1),
    await vote(stranger, "agent.eth", 1),
    { ...(await vote(stranger, "locked.eth", 0)), voter: holder.address },
    await vote(holder, "demo.linea.eth", 0),
  ];
  const { votes, verdicts } = await tally(index, proposal, ballots);
  for (const [position, { name, voter }] of ballots.entries())
    console.log(`${name} of ${voter}: ${verdicts[position]}`);
  console.log(proposal.question, proposal.choices.map((choice, at) => `${choice}: ${votes[at]}`).join(", "));
}
