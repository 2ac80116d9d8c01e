import type { Hex } from "viem";
import { reverseNode } from "./address-sql.ts";
import { type Listed, type ListedText, type NamesSource, readListed } from "./names-query.ts";

/** An address whose names are asked for. `after`: the rank, name and node of the last row of the page before. */
export type AskedAddress = {
  address: Hex;
  isOwner: boolean;
  isManager: boolean;
  size: number;
  after: readonly string[] | undefined;
};

/** The names of an address, its primary name first, one more than asked for if there are more; the total up to 1,000. */
export type FoundAddress = { rows: Listed[]; total: number };

/** Reads the names of many addresses with one statement, in order. */
export async function readAddresses(
  { database, statements }: NamesSource,
  { asked, times }: { asked: readonly AskedAddress[]; times: readonly number[] },
  signal: AbortSignal,
): Promise<FoundAddress[]> {
  if (asked.length === 0) return [];
  // What is asked for several times is read once.
  const places = new Map<string, number>();
  const placeOf = asked.map((one) => {
    const key = JSON.stringify(one);
    const place = places.get(key) ?? places.size;
    places.set(key, place);
    return place;
  });
  const distinct = [...places.keys()].map((key): AskedAddress => JSON.parse(key));
  const inputs = distinct.map(({ address, isOwner, isManager, size, after = [] }, at) => ({
    at,
    address,
    owner: isOwner,
    manager: isManager,
    size,
    reverse: reverseNode(address),
    after_rank: after[0] === undefined ? null : Number(after[0]),
    after_name: after[1] ?? null,
    after_id: after[2] ?? null,
  }));
  const values = [`{${times.join(",")}}`, JSON.stringify(inputs)];
  const [json] = await database.row(statements.addresses, values, signal);
  const found = JSON.parse(json ?? "[]") as { rows: ListedText[]; total: number }[];
  return placeOf.map((place) => {
    const { rows = [], total = 0 } = found[place] ?? {};
    return { rows: readListed(rows), total };
  });
}
