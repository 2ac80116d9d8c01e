import type { Hex } from "viem";
import { reverseNode } from "./address-sql.ts";
import { eachRow, type Listed, type ListedText, type NamesSource, readListed } from "./names-query.ts";
import { isCustodian } from "./places.ts";

/** An address whose names are asked for. `after`: the rank, name and node of the last row of the page before. */
export type AskedAddress = {
  address: Hex;
  isOwner: boolean;
  isManager: boolean;
  size: number;
  after: readonly string[] | undefined;
  /** Numbers of places (from 1) of which names are asked for; undefined: all. */
  places: readonly number[] | undefined;
};

/** The names of an address, its primary name first, one more than asked for if there are more; the total up to 1,000. */
export type FoundAddress = { rows: Listed[]; total: number };

/**
 * Reads the names of many addresses with one statement. `use` gets what is found of each, in any order, perhaps twice, and the places
 * of those that ask for it.
 */
export async function readAddresses(
  { database, statements, places: all }: NamesSource,
  { asked, times }: { asked: readonly AskedAddress[]; times: readonly number[] },
  signal: AbortSignal,
  use: (places: readonly number[], found: FoundAddress) => void,
): Promise<void> {
  // What is asked for several times is read once.
  const groups = new Map<string, number[]>();
  for (const [place, one] of asked.entries()) {
    if (isCustodian(all, one.address)) {
      use([place], { rows: [], total: 0 });
      continue;
    }
    const key = JSON.stringify(one);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [place]);
    else group.push(place);
  }
  if (groups.size === 0) return;
  const places = [...groups.values()];
  const inputs = [...groups.keys()].map((key, at) => {
    const { address, isOwner, isManager, size, after = [], places: ofPlaces }: AskedAddress = JSON.parse(key);
    return {
      at,
      address,
      owner: isOwner,
      manager: isManager,
      size,
      reverse: reverseNode(address),
      after_rank: after[0] === undefined ? null : Number(after[0]),
      after_name: after[1] ?? null,
      after_id: after[2] ?? null,
      places: ofPlaces ?? null,
    };
  });
  const values = [`{${times.join(",")}}`, JSON.stringify(inputs)];
  await eachRow(database, { sql: statements.addresses, values }, signal, (at, json) => {
    const { rows, total }: { rows: ListedText[]; total: number } = JSON.parse(json);
    use(places[at] ?? [], { rows: readListed(rows), total });
  });
}
