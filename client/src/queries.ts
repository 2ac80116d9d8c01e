import { infiniteQueryOptions, type Query, queryOptions } from "@tanstack/react-query";
import type { Client } from "./index.ts";
import type { List, Page } from "./list.ts";
import type { StreamMessage } from "./messages.ts";
import type * as Types from "./types.generated.ts";

// Options of queries for servers and browsers: without React, so that server components can prefetch with them. They
// retry nothing: the client does.

/** The first member of all keys. Two indexes in one app need a query client each. */
export const rootKey = "nsindex";

export const nameQuery = (client: Client, name: string) =>
  queryOptions({
    retry: false,
    queryKey: [rootKey, "name", name],
    queryFn: ({ signal }) => client.name(name, { signal }),
  });

export const recordsQuery = (client: Client, name: string, query: Types.RecordsQuery = {}) =>
  queryOptions({
    retry: false,
    queryKey: [rootKey, "records", name, query],
    queryFn: ({ signal }) => client.records(name, query, { signal }),
  });

export const primaryNameQuery = (client: Client, address: string, query: Types.PrimaryNameQuery = {}) =>
  queryOptions({
    retry: false,
    queryKey: [rootKey, "primaryName", address.toLowerCase(), query],
    queryFn: ({ signal }) => client.primaryName(address, query, { signal }),
  });

/**
 * Primary names of up to 1,000 addresses in one request, by the address as given; null without one. Verified, and of
 * the names that the address owns or manages.
 */
export const primaryNamesQuery = (client: Client, addresses: readonly string[]) =>
  queryOptions({
    retry: false,
    queryKey: [rootKey, "primaryNames", addresses],
    queryFn: async ({ signal }): Promise<{ [address: string]: string | null }> => {
      const inputs = addresses.map((address) => ({ address, page_size: 1 }));
      const results = await client.lookup({ inputs, profile: "feed" }, { signal });
      const names = results.map(({ records: [first] = [] }) =>
        first?.is_primary_verified ? first.name : null,
      );
      return Object.fromEntries(addresses.map((address, index) => [address, names[index] ?? null]));
    },
  });

const pagesOf = <T>(list: () => List<T>) => ({
  retry: false,
  queryFn: ({ pageParam, signal }: { pageParam: string; signal: AbortSignal }) =>
    list().page({ cursor: pageParam, signal }),
  initialPageParam: "",
  getNextPageParam: ({ next }: Page<T>) => next,
});

export const namesOfQuery = (client: Client, address: string, query: Types.PortfolioQuery = {}) =>
  infiniteQueryOptions({
    ...pagesOf(() => client.namesOf(address, query)),
    queryKey: [rootKey, "namesOf", address.toLowerCase(), query],
  });

export const expiriesQuery = (client: Client, query: Types.ExpiriesQuery) =>
  infiniteQueryOptions({
    ...pagesOf(() => client.expiries(query)),
    queryKey: [rootKey, "expiries", query],
  });

export const searchQuery = (client: Client, text: string, query: Omit<Types.SearchQuery, "q"> = {}) =>
  infiniteQueryOptions({
    ...pagesOf(() => client.search(text, query)),
    queryKey: [rootKey, "search", text, query],
  });

/**
 * Whether a message of the stream may change what a query has read, by the cache keys of docs/events.md. A name is
 * recognized by its text or by the namehash in its data.
 */
export function concernsQuery(
  { event, data }: StreamMessage,
  { queryKey, state }: Pick<Query, "queryKey"> & { state: { data: unknown } },
): boolean {
  const [root, kind, subject] = queryKey;
  if (root !== rootKey || event === "heartbeat") return false;
  if (event === "must-refetch" || kind === "expiries" || kind === "search") return true;
  // Entries that were final before the log began have no keys.
  if (!Array.isArray(data.keys)) return true;
  const keys = new Set<string>(data.keys);
  if (kind === "namesOf" || kind === "primaryName" || kind === "primaryNames")
    return keys.has("addresses") || [subject].flat().some((one) => keys.has(`address:${one}`.toLowerCase()));
  const isSubject = ({ name }: { name?: string }) =>
    name !== undefined && name === String(subject).toLowerCase();
  if (event === "event" && isSubject(data)) return true;
  if (event === "healed" && data.names?.some(isSubject)) return true;
  const { namehash } = (state.data ?? {}) as { namehash?: string };
  // Of records, and of a name that was unknown, the namehash is not known.
  return namehash === undefined ? event === "reverted" : keys.has(`name:${namehash}`);
}
