import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { expect, test } from "vitest";
import { createClient } from "../../client/src/index.ts";
import { createStoredNames, inGrace, later, now } from "../../test/support/lookups/stored-names.ts";
import { type Ballot, type Proposal, tally, toTypedData } from "./voting.ts";

const [holder, other] = ["1", "2"].map((digit) => privateKeyToAccount(`0x${digit.repeat(64)}`));
const { fetch: fetchNames, store } = await createStoredNames();
const lease = { holder: holder!.address.toLowerCase(), expires: later };
for (const name of ["one.eth", "two.eth", "deep.one.eth"]) await store(name, { owner: lease.holder, lease });
await store("ended.eth", { lease: { ...lease, expires: inGrace } });

const requests: string[] = [];
const url = "http://index.test";
const index = createClient({
  url,
  fetch: (async (input: string, init: RequestInit) => {
    requests.push(input.slice(url.length));
    return fetchNames(input.slice(url.length), init);
  }) as typeof fetch,
});

const proposal: Proposal = { question: "?", choices: ["yes", "no"], parent: "eth", at: now };
async function vote(name: string, choice = 0, { by = holder!, on = proposal } = {}): Promise<Ballot> {
  return {
    voter: by.address,
    name,
    choice,
    signature: await by.signTypedData(toTypedData(on, { name, choice })),
  };
}

test("names vote once, by whoever holds them; one request asks for all", async () => {
  const one = await vote("one.eth");
  const cases: [Ballot, string][] = [
    [await vote("one.eth", 0, { by: other! }), "not held by the voter"],
    [one, "counted"],
    [one, "the name has voted"],
    [await vote("ONE.eth", 1), "the name has voted"],
    [{ ...(await vote("two.eth", 1)), choice: 0 }, "wrong signature"],
    [{ ...(await vote("two.eth", 1)), voter: other!.address }, "wrong signature"],
    [{ ...one, name: "two.eth" }, "wrong signature"],
    [{ ...one, signature: "0x12" }, "wrong signature"],
    [{ ...one, voter: "me" as Hex }, "wrong signature"],
    [await vote("two.eth", 1, { on: { ...proposal, question: "another" } }), "wrong signature"],
    [await vote("two.eth", 2), "no such choice"],
    [await vote("two.eth", 1), "counted"],
    [await vote("deep.one.eth"), "not a name of the vote"],
    [await vote("ended.eth"), "not a name of the vote"],
    [await vote("unknown.eth"), "not a name of the vote"],
    [await vote("a..eth"), "not a name of the vote"],
  ];
  const { votes, verdicts } = await tally(
    index,
    proposal,
    cases.map(([ballot]) => ballot),
  );
  expect(verdicts).toEqual(cases.map(([, verdict]) => verdict));
  expect(votes).toEqual([1, 1]);
  expect(requests).toEqual([`/v1/lookup?at=${now}`]);
});
