"use client";

import {
  keepPreviousData,
  type Query,
  type QueryClient,
  useInfiniteQuery,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { createContext, createElement, type ReactNode, useContext, useEffect, useRef } from "react";
import type { Client } from "./index.ts";
import type { StreamMessage } from "./messages.ts";
import {
  concernsQuery,
  expiriesQuery,
  nameQuery,
  namesOfQuery,
  primaryNameQuery,
  primaryNamesQuery,
  recordsQuery,
  rootKey,
  searchQuery,
} from "./queries.ts";
import type * as Types from "./types.generated.ts";

const ClientContext = createContext<Client | undefined>(undefined);

/** Gives the hooks below it their client. It stands inside of a `QueryClientProvider`. */
export const IndexProvider = ({ client, children }: { client: Client; children?: ReactNode }): ReactNode =>
  createElement(ClientContext.Provider, { value: client }, children);

/** The client of the nearest `IndexProvider`. */
export function useIndex(): Client {
  const client = useContext(ClientContext);
  if (client === undefined) throw new Error("There is no IndexProvider above this component");
  return client;
}

/** A name; null if the index has never seen it. Without a name nothing is read. */
export const useName = (name: string | undefined) =>
  useQuery({ ...nameQuery(useIndex(), name ?? ""), enabled: Boolean(name) });

/** Records of a name by key. */
export const useRecords = (name: string | undefined, query?: Types.RecordsQuery) =>
  useQuery({ ...recordsQuery(useIndex(), name ?? "", query), enabled: Boolean(name) });

/** The primary name of an address: its claim and what the chain says of it. */
export const usePrimaryName = (address: string | undefined, query?: Types.PrimaryNameQuery) =>
  useQuery({ ...primaryNameQuery(useIndex(), address ?? "", query), enabled: Boolean(address) });

/**
 * Primary names of up to 1,000 addresses by the address as given; null without one. Verified, and of the names that the
 * address owns or manages. Those of other addresses stay in `data` until the new ones are read.
 */
export const usePrimaryNames = (addresses: readonly string[]) =>
  useQuery({
    ...primaryNamesQuery(useIndex(), addresses),
    enabled: addresses.length > 0,
    placeholderData: keepPreviousData,
  });

/** Names of an address by pages: `data.pages`, `fetchNextPage`. */
export const useNamesOf = (address: string | undefined, query?: Types.PortfolioQuery) =>
  useInfiniteQuery({ ...namesOfQuery(useIndex(), address ?? "", query), enabled: Boolean(address) });

/** Names by deadline, by pages. */
export const useExpiries = (query: Types.ExpiriesQuery) => useInfiniteQuery(expiriesQuery(useIndex(), query));

/** Names that a text finds, by pages. As it changes, the former names stay in `data` until the new ones are read. */
export const useSearch = (text: string, query?: Omit<Types.SearchQuery, "q">) =>
  useInfiniteQuery({
    ...searchQuery(useIndex(), text, query),
    enabled: text !== "",
    placeholderData: (former) => (text === "" ? undefined : former),
  });

type NameEventsOptions = {
  /** Which events; all without. A filter leaves queries as they are whose events it excludes. */
  query?: Omit<Types.StreamQuery, "after" | "from"> | undefined;
  onMessage?: ((message: StreamMessage) => void) | undefined;
  /** Called with what ends the stream, or breaks it for a moment. */
  onError?: ((error: unknown) => void) | undefined;
  enabled?: boolean | undefined;
};

/**
 * Follows name events while the component is mounted, and reads anew what a message concerns. Once it is connected it
 * reads everything anew: what happened before is in no message. It takes one connection: use it once, near the root.
 */
export function useNameEvents({ query = {}, enabled = true, ...callbacks }: NameEventsOptions = {}): void {
  const client = useIndex();
  const queries = useQueryClient();
  const latest = useRef(callbacks);
  useEffect(() => {
    latest.current = callbacks;
  });
  const filter = JSON.stringify(query);
  useEffect(() => {
    if (!enabled) return;
    const controller = new AbortController();
    const { signal } = controller;
    const onBreak = (error: unknown) => latest.current.onError?.(error);
    const readAnew = collectReads(queries);
    const follow = async (): Promise<void> => {
      // Unless it is aborted, a stream ends with `must-refetch`, and another begins.
      while (!signal.aborted) {
        let isConnected = false;
        for await (const message of client.stream(JSON.parse(filter), { signal, onBreak })) {
          latest.current.onMessage?.(message);
          const isFirst: boolean = !isConnected && message.event === "heartbeat";
          isConnected ||= isFirst;
          readAnew((one) => (isFirst ? one.queryKey[0] === rootKey : concernsQuery(message, one)));
        }
      }
    };
    follow().catch(onBreak);
    return () => controller.abort();
  }, [client, queries, filter, enabled]);
}

type Predicate = (query: Query) => boolean;

// A block is many messages: what they concern is read once.
function collectReads(queries: QueryClient): (predicate: Predicate) => void {
  let waiting: Predicate[] = [];
  return (predicate) => {
    if (waiting.push(predicate) > 1) return;
    setTimeout(() => {
      const all = waiting;
      waiting = [];
      readAnew(queries, (query) => all.some((concerns) => concerns(query)));
    }, 50);
  };
}

// A first read that is under way does not begin anew, and may be of the time before: it is followed by another.
function readAnew(queries: QueryClient, predicate: Predicate): void {
  const fetching = queries.getQueryCache().findAll({ predicate, fetchStatus: "fetching" });
  const first = fetching.filter(({ state }) => state.data === undefined);
  void queries.invalidateQueries({ predicate });
  for (const query of first) {
    const again = () => queries.invalidateQueries({ predicate: (one) => one === query });
    query.promise?.then(again, again);
  }
}
