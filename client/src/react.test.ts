import { dehydrate, hydrate, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, createElement, type ReactElement, type ReactNode } from "react";
import { renderToString } from "react-dom/server";
import { create } from "react-test-renderer";
import { describe, expect, onTestFinished, test } from "vitest";
import { namehash } from "../../src/ens/names.ts";
import { alice, bob, createStoredNames } from "../../test/support/lookups/stored-names.ts";
import { createClient, type HistoryEntry, type StreamMessage } from "./index.ts";
import {
  concernsQuery,
  expiriesQuery,
  nameQuery,
  namesOfQuery,
  primaryNameQuery,
  recordsQuery,
} from "./queries.ts";
import {
  IndexProvider,
  useExpiries,
  useIndex,
  useName,
  useNameEvents,
  useNamesOf,
  usePrimaryName,
  useRecords,
} from "./react.ts";

const { fetch: ask } = await createStoredNames();
Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });

/** A client of the stored names whose stream has the messages that `send` is given, and the paths that it asks for. */
function openIndex() {
  const paths: string[] = [];
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const fetch = (async (input: string, init: RequestInit) => {
    paths.push(input.replace(/\?.*/, ""));
    if (!input.startsWith("/v1/events/stream")) return ask(input, init);
    const body = new ReadableStream<Uint8Array>({
      start: (given) => {
        controller = given;
      },
    });
    init.signal?.addEventListener("abort", () => paths.push("closed"));
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }) as unknown as typeof globalThis.fetch;
  const send = (event: string, data: object) =>
    controller?.enqueue(
      new TextEncoder().encode(`event: ${event}\nid: 1\ndata: ${JSON.stringify(data)}\n\n`),
    );
  return { client: createClient({ url: "", fetch, retries: 0 }), paths, send };
}

type Opened = Pick<ReturnType<typeof openIndex>, "client"> & { queries: QueryClient };

const wrap = ({ client, queries }: Opened, children: ReactNode) =>
  createElement(QueryClientProvider, { client: queries }, createElement(IndexProvider, { client }, children));

function Profile({ name, address }: { name?: string; address?: string }) {
  const { data, error } = useName(name);
  const { data: records } = useRecords(name, { keys: "text:url", source: "indexed" });
  const { data: primary } = usePrimaryName(address, { coin_type: 2_147_483_648 });
  const { data: names } = useNamesOf(address, { page_size: 200 });
  const { data: due } = useExpiries({ namespace: "ens", expires_after: 1_768_400_395, page_size: 200 });
  const found = {
    owner: error?.name ?? data?.owner,
    url: records?.records["text:url"]?.value,
    primary: primary?.answers[0]?.name,
    owned: names?.pages.flatMap(({ data }) => data).some((one) => one.name === "records.eth"),
    due: due?.pages.flatMap(({ data }) => data).some((one) => one.name === "plain.eth"),
  };
  return JSON.stringify(found);
}

const whole = { owner: bob, url: "https://ens.domains", primary: "records.eth", owned: true, due: true };

async function mount(node: ReactElement) {
  const renderer = await act(() => create(node));
  onTestFinished(() => act(() => renderer.unmount()));
  return async () => {
    await act(async () => {});
    return JSON.parse(String(renderer.toJSON()));
  };
}

test("hooks read what they are named after, and nothing without a name or an address", async () => {
  const { client, paths } = openIndex();
  const queries = new QueryClient();
  const idle = await mount(wrap({ client, queries }, createElement(Profile, {})));
  await expect.poll(idle).toEqual({ due: true });
  expect(paths).toEqual(["/v1/names"]);
  const read = await mount(
    wrap({ client, queries }, createElement(Profile, { name: "records.eth", address: bob })),
  );
  await expect.poll(read).toEqual(whole);
});

test("an error is the client's, after one call", async () => {
  const { client, paths } = openIndex();
  const queries = new QueryClient();
  const read = await mount(wrap({ client, queries }, createElement(Profile, { name: "a..eth" })));
  await expect.poll(read).toMatchObject({ owner: "ApiError" });
  expect(paths.filter((path) => path === "/v1/lookup").length).toBe(1);
});

test("a server reads ahead, and the page begins with what it has read", async () => {
  const { client } = openIndex();
  const server = new QueryClient();
  await Promise.all([
    server.prefetchQuery(nameQuery(client, "records.eth")),
    server.prefetchQuery(recordsQuery(client, "records.eth", { keys: "text:url", source: "indexed" })),
    server.prefetchQuery(primaryNameQuery(client, bob, { coin_type: 2_147_483_648 })),
    server.prefetchInfiniteQuery(namesOfQuery(client, bob, { page_size: 200 })),
    server.prefetchInfiniteQuery(
      expiriesQuery(client, { namespace: "ens", expires_after: 1_768_400_395, page_size: 200 }),
    ),
  ]);
  const state = JSON.parse(JSON.stringify(dehydrate(server)));
  const queries = new QueryClient();
  hydrate(queries, state);
  const page = createElement(Profile, {
    name: "records.eth",
    address: bob.toUpperCase().replace("0X", "0x"),
  });
  const html = renderToString(wrap({ client, queries }, page));
  expect(JSON.parse(html.replaceAll("&quot;", '"'))).toEqual(whole);
});

test("a hook without a provider says so", () => {
  const Lost = () => useIndex().url;
  expect(() => renderToString(createElement(Lost))).toThrow("There is no IndexProvider above this component");
});

test("the stream is open while the component is mounted, and has read anew what a message concerns", async () => {
  const { client, paths, send } = openIndex();
  const seen: string[] = [];
  function Live({ name }: { name: string }) {
    useNameEvents({ query: { namespace: "ens" }, onMessage: ({ event }) => seen.push(event) });
    return JSON.stringify({ owner: useName(name).data?.owner });
  }
  const queries = new QueryClient();
  const live = wrap({ client, queries }, createElement(Live, { name: "plain.eth" }));
  const renderer = await act(() => create(live));
  const count = (path: string) => paths.filter((one) => one === path).length;
  const wait = (path: string, number: number) =>
    expect
      .poll(async () => {
        await act(async () => {});
        return count(path);
      })
      .toBe(number);
  await wait("/v1/lookup", 1);
  await wait("/v1/events/stream", 1);
  const message = async (event: string, data: object) => {
    const before = seen.length;
    await act(async () => send(event, data));
    await expect.poll(() => seen.length).toBe(before + 1);
  };
  // What happened before the stream began.
  await message("heartbeat", {});
  await wait("/v1/lookup", 2);
  await message("event", { name: "other.eth", keys: ["all", `name:${namehash("other.eth")}`] });
  await message("heartbeat", {});
  expect(count("/v1/lookup")).toBe(2);
  await message("reverted", { ids: [], keys: ["all", `name:${namehash("plain.eth")}`] });
  await wait("/v1/lookup", 3);
  await message("must-refetch", { reason: "" });
  await wait("/v1/lookup", 4);
  await wait("/v1/events/stream", 2);
  await act(() => renderer.unmount());
  await expect.poll(() => count("closed")).toBe(2);
});

describe("which queries a message concerns", () => {
  const keys = ["all", `name:${namehash("plain.eth")}`, `address:${alice}`];
  const event = (data: Partial<HistoryEntry>) => ({ event: "event", data }) as StreamMessage;
  const renewal = event({ name: "plain.eth", keys });
  const reverted = { event: "reverted", data: { keys } } as unknown as StreamMessage;
  const healed = {
    event: "healed",
    data: { names: [{ namehash: "0x1", name: "plain.eth" }], keys: ["all", "name:0x1"] },
  };
  const plain = { name: "plain.eth", namehash: namehash("plain.eth") };
  test.each<[string, StreamMessage, readonly unknown[], unknown, boolean]>([
    ["of the name", renewal, ["name", "plain.eth"], plain, true],
    ["of the name, as it was typed", renewal, ["name", "PLAIN.eth"], plain, true],
    ["of a name that was unknown", renewal, ["name", "plain.eth"], null, true],
    ["of another name", renewal, ["name", "other.eth"], { namehash: namehash("other.eth") }, false],
    ["of its records", renewal, ["records", "plain.eth", {}], { records: {} }, true],
    ["of other records", renewal, ["records", "other.eth", {}], { records: {} }, false],
    ["of a holder", renewal, ["namesOf", alice, {}], undefined, true],
    ["of somebody else", renewal, ["namesOf", bob, {}], undefined, false],
    ["of the holder's primary name", renewal, ["primaryName", alice, {}], undefined, true],
    ["of holders that may have moved", event({ keys: ["addresses"] }), ["namesOf", bob, {}], undefined, true],
    ["of deadlines", renewal, ["expiries", {}], undefined, true],
    ["reverted", reverted, ["name", "plain.eth"], plain, true],
    [
      "reverted, of another name",
      reverted,
      ["name", "other.eth"],
      { namehash: namehash("other.eth") },
      false,
    ],
    ["reverted, of records by a name", reverted, ["records", "other.eth", {}], { records: {} }, true],
    ["healed", healed as StreamMessage, ["name", "plain.eth"], null, true],
    ["without keys", event({}), ["name", "other.eth"], plain, true],
    [
      "from another index",
      { event: "must-refetch", id: undefined, data: { reason: "" } },
      ["name", "a.eth"],
      null,
      true,
    ],
    ["of nothing", { event: "heartbeat", id: "1", data: {} }, ["name", "plain.eth"], plain, false],
  ])("%s", (_, message, [kind, ...rest], data, expected) => {
    expect(concernsQuery(message, { queryKey: ["nsindex", kind, ...rest], state: { data } })).toBe(expected);
    expect(concernsQuery(message, { queryKey: ["posts", kind, ...rest], state: { data } })).toBe(false);
  });
});
