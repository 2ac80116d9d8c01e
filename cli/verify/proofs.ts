import { type Hex, numberToHex } from "viem";
import type { IndexedChain } from "../../src/config/chains.ts";
import type { Config } from "../../src/config/environment.ts";
import { countNoun } from "../../src/log/json-log.ts";
import type { BlockRef } from "../../src/ponder/checkpoints.ts";
import { nameUrl } from "../checks/nodes.ts";
import { planReading } from "./layouts.ts";
import { askThrice, proveStateRoot } from "./proven-headers.ts";
import type { Question } from "./questions.ts";
import { proveWords } from "./state-proofs.ts";

// The state root of a header proves what contracts store, so that nodes need not be believed.

type Difference = Question & { theirs: string };

/**
 * What proofs found, and said. `unproven` counts values that no node proves, though the layout of their contract is
 * known.
 */
export type Proven = { compared: number; differences: Difference[]; unproven: number; said: Set<string> };

type Tools = { config: Config; heads: ReadonlyMap<number, BlockRef>; progress: (done: number) => void };

/**
 * Compares values with proofs by the headers of the last indexed blocks. A chain is given up where no node proves a
 * contract's words.
 */
export async function prove(questions: readonly Question[], { config, heads, progress }: Tools) {
  const found: Proven = { compared: 0, differences: [], unproven: 0, said: new Set() };
  let done = 0;
  for (const chain of config.chains) {
    const head = heads.get(chain.id);
    const ofChain = questions.filter(({ chainId }) => chainId === chain.id);
    if (head === undefined || ofChain.length === 0) continue;
    const say = (line: string) => found.said.add(`${chain.name}: ${line}`);
    const stateRoot = await proveStateRoot(chain, head.number, say);
    const urls = new Set(chain.rpc.http);
    for (const [address, ofContract] of Map.groupBy(ofChain, ({ to }) => to)) {
      const readings = ofContract.flatMap((question) => planReading(question, config) ?? []);
      const slots = [...new Set(readings.flatMap((reading) => reading.slots))];
      const asked = stateRoot && { urls, stateRoot, address, slots, block: head.number };
      const words = asked && (await readWords(chain, asked, say));
      const proven = words && readings.map(({ read }) => read(words));
      const contract = `${readings[0]?.contract ?? "contract"} ${address}`;
      if (proven === undefined) found.unproven += readings.length;
      else say(`${compareContract(ofContract, { proven, head, found })}: ${contract}`);
      done += ofContract.length;
      progress(done);
    }
  }
  return { ...found, reverted: 0, unanswered: 0 };
}

/** Adds a contract's values and their differences to what was found; says what came of it. */
function compareContract(
  questions: readonly Question[],
  { proven, head, found }: { proven: (string | undefined)[]; head: BlockRef; found: Proven },
): string {
  const values = countNoun(questions.length, "value");
  if (proven.every((text) => text === undefined)) return `${values} not provable (unknown storage layout)`;
  const differences = questions.flatMap((question, index): Difference[] => {
    const { asOurs = (text: string) => text, ours } = question;
    const theirs = asOurs(proven[index] ?? "absent", head.timestamp);
    return theirs === undefined || theirs === ours ? [] : [{ ...question, theirs }];
  });
  found.compared += questions.length;
  found.differences.push(...differences);
  return `${differences.length} of ${values} differ`;
}

const slotsAtOnce = 50;

/**
 * The words of a contract's storage; undefined if no URL proves them. A URL that does not is left out, and why is said.
 */
async function readWords(
  { id, rpc }: IndexedChain,
  { urls, ...asked }: { urls: Set<string>; stateRoot: Hex; address: Hex; slots: bigint[]; block: number },
  say: (line: string) => void,
) {
  const words: [bigint, bigint][] = [];
  while (words.length < asked.slots.length) {
    const [url] = urls;
    if (url === undefined) return undefined;
    const slots = asked.slots.slice(words.length, words.length + slotsAtOnce);
    const keys = slots.map((slot) => numberToHex(slot, { size: 32 }));
    try {
      const answer = await askThrice(url, "eth_getProof", [asked.address, keys, numberToHex(asked.block)]);
      words.push(...proveWords({ ...asked, slots }, answer));
    } catch (error) {
      urls.delete(url);
      say(`no proof from ${nameUrl(id, rpc.http, rpc.http.indexOf(url))}: ${(error as Error).message}`);
    }
  }
  return new Map(words);
}
