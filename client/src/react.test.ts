// @vitest-environment happy-dom
import {
  dehydrate,
  HydrationBoundary,
  QueryClient,
  QueryClientProvider,
  useSuspenseQuery,
} from "@tanstack/react-query";
import { createElement, type ReactNode, StrictMode, Suspense, useEffect } from "react";
import { createRoot, hydrateRoot } from "react-dom/client";
import { renderToString } from "react-dom/server";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { namehash } from "../../src/ens/names.ts";
import {
  alice,
  bob,
  createStoredNames,
  dave,
  publicResolver,
} from "../../test/support/lookups/stored-names.ts";
import { createClient, type HistoryEntry, type StreamMessage } from "./index.ts";
import {
  concernsQuery,
  expiriesQuery,
  nameQuery,
  namesOfQuery,
  primaryNameQuery,
  primaryNamesQuery,
  recordsQuery,
  searchQuery,
} from "./queries.ts";
import {
  IndexProvider,
  useExpiries,
  useIndex,
  useName,
  useNameEvents,
  useNamesOf,
  usePrimaryName,
  usePrimaryNames,
  useRecords,
  useSearch,
} from "./react.ts";

const { fetch: ask, store, setRecords, claim } = await createStoredNames();
await store("dave.eth", { owner: dave, resolver: publicResolver });
await setRecords("dave.eth", { addresses: { 60: dave } });
await claim(dave, "dave.eth");

type Fetch = typeof globalThis.fetch;

/**
 * A client of the stored names whose stream has the messages that `send` is given, and the paths that it asks for. The
 * path `silent` has no answer until `answer` is called.
 */
function openIndex(silent?: string) {
  let answer = () => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const paths: string[] = [];
  const streams: string[] = [];
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const fetch = (async (input: string, init: RequestInit) => {
    paths.push(input.replace(/\?.*/, ""));
    if (paths.at(-1) === silent) await answered;
    if (!input.startsWith("/v1/events/stream")) return ask(input, init);
    const body = new ReadableStream<Uint8Array>({
      start: (given) => {
        controller = given;
      },
    });
    const query = input.replace(/.*\?/, "");
    streams.push(`opened ${query}`);
    init.signal?.addEventListener("abort", () => streams.push(`closed ${query}`));
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }) as unknown as Fetch;
  const send = (event: string, data: object) =>
    controller?.enqueue(
      new TextEncoder().encode(`event: ${event}\nid: 1\ndata: ${JSON.stringify(data)}\n\n`),
    );
  const count = (path: string) => paths.filter((one) => one === path).length;
  return { client: createClient({ url: "", fetch, retries: 0 }), paths, streams, send, count, answer };
}

/** A client that gets one answer to everything. */
const openAnswer = (text: string, type = "application/json") => {
  const fetch = async () => new Response(text, { headers: { "content-type": type } });
  return createClient({ url: "", fetch: fetch as Fetch, retries: 0 });
};

type Opened = Pick<ReturnType<typeof openIndex>, "client"> & { queries?: QueryClient };

const wrap = ({ client, queries = new QueryClient() }: Opened, children: ReactNode) =>
  createElement(QueryClientProvider, { client: queries }, createElement(IndexProvider, { client }, children));

/** Mounts a component; `read` is its text. Whatever React complains of fails the test. */
function mount(node: ReactNode, html?: string) {
  const complaints = vi.spyOn(console, "error");
  const container = document.createElement("div");
  container.innerHTML = html ?? "";
  const root = html === undefined ? createRoot(container) : hydrateRoot(container, node);
  if (html === undefined) root.render(node);
  onTestFinished(() => {
    root.unmount();
    expect(complaints.mock.calls).toEqual([]);
    complaints.mockRestore();
  });
  return { container, read: () => container.textContent, show: (next: ReactNode) => root.render(next) };
}

type Subject = { name?: string; address?: string };

const due = { namespace: "ens", expires_after: 1_768_400_395, page_size: 200 } as const;

function Profile({ name, address }: Subject) {
  const { data, error } = useName(name);
  const { data: records } = useRecords(name, { keys: "text:url", source: "indexed" });
  const { data: primary } = usePrimaryName(address, { coin_type: 2_147_483_648 });
  const { data: primaries } = usePrimaryNames(address === undefined ? [] : [address, dave]);
  const { data: names } = useNamesOf(address, { page_size: 200 });
  const { data: search } = useSearch(name ?? "", { page_size: 1 });
  const { data: expiries } = useExpiries(due);
  return JSON.stringify({
    owner: error?.name ?? data?.owner,
    url: records?.records["text:url"]?.value,
    primary: primary?.answers[0]?.name,
    primaries: primaries && [primaries[address ?? ""], primaries[dave]],
    owned: names?.pages.flatMap(({ data }) => data).some((one) => one.name === "records.eth"),
    found: search?.pages[0]?.data[0]?.name,
    due: expiries?.pages.flatMap(({ data }) => data).some((one) => one.name === "plain.eth"),
  });
}

const whole = JSON.stringify({
  owner: bob,
  url: "https://ens.domains",
  primary: "records.eth",
  // That of bob has the address of alice.
  primaries: [null, "dave.eth"],
  owned: true,
  found: "records.eth",
  due: true,
});

const ofBob = { name: "records.eth", address: bob.toUpperCase().replace("0X", "0x") };

test("hooks read what they are named after, and nothing without a name or an address", async () => {
  const { client, paths } = openIndex();
  const idle = mount(wrap({ client }, createElement(Profile)));
  await expect.poll(idle.read).toBe(JSON.stringify({ due: true }));
  expect(paths).toEqual(["/v1/names"]);
  const { read } = mount(wrap({ client }, createElement(Profile, ofBob)));
  await expect.poll(read).toBe(whole);
});

test("an error is the client's, after one call", async () => {
  const { client, count } = openIndex();
  const { read } = mount(wrap({ client }, createElement(Profile, { name: "a..eth" })));
  await expect.poll(read).toContain("ApiError");
  expect(count("/v1/lookup")).toBe(1);
});

test("a page of a server that has read ahead is taken over without a request or a complaint", async () => {
  const { client } = openIndex();
  const server = new QueryClient();
  await Promise.all([
    server.prefetchQuery(nameQuery(client, ofBob.name)),
    server.prefetchQuery(recordsQuery(client, ofBob.name, { keys: "text:url", source: "indexed" })),
    server.prefetchQuery(primaryNameQuery(client, bob, { coin_type: 2_147_483_648 })),
    server.prefetchQuery(primaryNamesQuery(client, [ofBob.address, dave])),
    server.prefetchInfiniteQuery(namesOfQuery(client, bob, { page_size: 200 })),
    server.prefetchInfiniteQuery(searchQuery(client, ofBob.name, { page_size: 1 })),
    server.prefetchInfiniteQuery(expiriesQuery(client, due)),
  ]);
  const state = JSON.parse(JSON.stringify(dehydrate(server)));
  const render = ({ client }: Opened, onMount?: (queries: QueryClient) => void) => {
    const queries = new QueryClient({ defaultOptions: { queries: { staleTime: 60_000 } } });
    const Page = () => {
      useEffect(() => onMount?.(queries));
      return createElement("p", null, createElement(Profile, ofBob));
    };
    return wrap({ client, queries }, createElement(HydrationBoundary, { state }, createElement(Page)));
  };
  const html = renderToString(render({ client }));
  const browser = openIndex();
  let fetching: number | undefined;
  const page = render(browser, (queries) => {
    fetching = queries.isFetching();
  });
  const { container, read } = mount(page, html);
  const served = container.firstChild;
  expect(read()).toBe(whole);
  await expect.poll(() => fetching).toBe(0);
  expect(read()).toBe(whole);
  expect(container.firstChild).toBe(served);
  expect(browser.paths).toEqual([]);
});

test("a hook without a provider says so", () => {
  const Lost = () => useIndex().url;
  expect(() => renderToString(createElement(Lost))).toThrow("There is no IndexProvider above this component");
});

test("a component that waits shows its fallback, then the name", async () => {
  const Owner = () => useSuspenseQuery(nameQuery(useIndex(), "plain.eth")).data?.owner;
  const { read } = mount(wrap(openIndex(), createElement(Suspense, { fallback: "…" }, createElement(Owner))));
  await expect.poll(read).toBe("…");
  await expect.poll(read).toBe(alice);
});

test("requests that nobody waits for any longer are aborted", async () => {
  const [sent, aborted]: [string[], string[]] = [[], []];
  const fetch = (input: string, { signal }: RequestInit) =>
    new Promise((_, reject) => {
      const path = input.replace(/\?.*/, "");
      sent.push(path);
      signal?.addEventListener("abort", () => {
        aborted.push(path);
        reject(signal.reason);
      });
    });
  const client = createClient({ url: "", fetch: fetch as unknown as Fetch });
  const queries = new QueryClient();
  const page = (name: string) => wrap({ client, queries }, createElement(Search, { text: name }));
  const Search = ({ text }: { text: string }) => `${useSearch(text).status} ${useName(text).status}`;
  const { show } = mount(page("a.eth"));
  const both = ["/v1/search", "/v1/lookup"];
  await expect.poll(() => sent).toEqual(both);
  show(page("ab.eth"));
  await expect.poll(() => [...aborted].sort()).toEqual([...both].sort());
  await expect.poll(() => sent).toEqual([...both, ...both]);
  show(null);
  await expect.poll(() => aborted.length).toBe(4);
});

test("a search keeps the names that it has found until it has others", async () => {
  const { client } = openIndex();
  const queries = new QueryClient();
  const shown: string[] = [];
  function Search({ text }: { text: string }) {
    const found = useSearch(text, { page_size: 1 }).data?.pages[0]?.data[0]?.name ?? "none";
    if (shown.at(-1) !== found) shown.push(found);
    return found;
  }
  const page = (text: string) => wrap({ client, queries }, createElement(Search, { text }));
  const { read, show } = mount(page("plain.eth"));
  await expect.poll(read).toBe("plain.eth");
  show(page("records.eth"));
  await expect.poll(read).toBe("records.eth");
  expect(shown).toEqual(["none", "plain.eth", "records.eth"]);
  show(page(""));
  await expect.poll(read).toBe("none");
});

describe("a stream of events", () => {
  const waitFor = (read: () => unknown, value: unknown) => expect.poll(read).toEqual(value);

  test("is open while the component is mounted, and what a message concerns is read anew", async () => {
    const { client, streams, send, count } = openIndex();
    const seen: string[] = [];
    function Live({ name }: { name: string }) {
      useNameEvents({ query: { namespace: "ens" }, onMessage: ({ event }) => seen.push(event) });
      return useName(name).data?.owner;
    }
    const live = wrap({ client }, createElement(Live, { name: "plain.eth" }));
    const { show } = mount(live);
    const lookups = (number: number) => waitFor(() => count("/v1/lookup"), number);
    await lookups(1);
    await waitFor(() => streams, ["opened namespace=ens"]);
    const message = async (event: string, data: object) => {
      const before = seen.length;
      send(event, data);
      await waitFor(() => seen.length, before + 1);
    };
    const keysOf = (name: string) => ["all", `name:${namehash(name)}`];
    // What happened before the stream began.
    await message("heartbeat", {});
    await lookups(2);
    await message("event", { name: "other.eth", keys: keysOf("other.eth") });
    await message("heartbeat", {});
    await message("reverted", { ids: [], keys: keysOf("plain.eth") });
    await lookups(3);
    await message("must-refetch", { reason: "" });
    await lookups(4);
    await waitFor(() => streams.length, 3);
    show(null);
    const [opened, closed] = ["opened namespace=ens", "closed namespace=ens"];
    await waitFor(() => streams, [opened, closed, opened, closed]);
  });

  test("of many messages is read anew once", async () => {
    const { client, send, count } = openIndex();
    function Live() {
      useNameEvents();
      return useExpiries(due).status;
    }
    mount(wrap({ client }, createElement(Live)));
    await waitFor(() => count("/v1/events/stream"), 1);
    send("heartbeat", {});
    await waitFor(() => count("/v1/names"), 2);
    for (let number = 0; number < 100; number++) send("event", { name: `${number}.eth`, keys: ["all"] });
    await waitFor(() => count("/v1/names"), 3);
  });

  test("lets a first read end, which holds up no other, and reads again", async () => {
    const { client, send, count, answer } = openIndex("/v1/lookup");
    function Live() {
      useNameEvents();
      return `${useName("plain.eth").data?.owner} ${useExpiries(due).status}`;
    }
    const { read } = mount(wrap({ client }, createElement(Live)));
    await expect.poll(read).toBe("undefined success");
    send("heartbeat", {});
    await waitFor(() => count("/v1/names"), 2);
    expect(count("/v1/lookup")).toBe(1);
    answer();
    await expect.poll(read).toBe(`${alice} success`);
    await waitFor(() => count("/v1/lookup"), 2);
  });

  test("changes with its filter, and is opened once in strict mode", async () => {
    const { client, streams } = openIndex();
    function Live({ address }: { address: string }) {
      useNameEvents({ query: { address } });
      return address;
    }
    const queries = new QueryClient();
    const page = (address: string) =>
      createElement(StrictMode, null, wrap({ client, queries }, createElement(Live, { address })));
    const { show } = mount(page(alice));
    // React mounts twice.
    const first = [`opened address=${alice}`, `closed address=${alice}`, `opened address=${alice}`];
    await waitFor(() => streams, first);
    show(page(bob));
    await waitFor(() => streams, [...first, `closed address=${alice}`, `opened address=${bob}`]);
    show(null);
    await waitFor(() => streams.at(-1), `closed address=${bob}`);
  });
});

describe("answers that are none of this index", () => {
  function States({ name, address }: Required<Subject>) {
    useNameEvents();
    const states = [useName(name), useRecords(name), usePrimaryName(address), usePrimaryNames([address])];
    const lists = [useNamesOf(address), useSearch(name), useExpiries(due)];
    return [...states, ...lists].map(({ status }) => status).join(" ");
  }
  const page = (client: Opened["client"]) =>
    wrap({ client }, createElement(States, { name: "plain.eth", address: alice }));

  test.each([
    ["a page", "<!doctype html><title>Sign in</title>", "text/html"],
    ["a text", '"ok"', "application/json"],
    ["null", "null", "application/json"],
    ["other members", '{"result":{}}', "application/json"],
    ["members of other types", '{"data":1,"page":"1","meta":[]}', "application/json"],
  ])("are errors: %s", async (_, text, type) => {
    const { read } = mount(page(openAnswer(text, type)));
    await expect.poll(read).toBe("error error error error error error error");
  });
});

test("hostile records are shown as text", async () => {
  const hostile = [
    "<script>document.title = 1</script>",
    "\u202egnp.exe",
    "a".repeat(1_000_000),
    "__proto__",
  ];
  const records = Object.fromEntries(hostile.map((value, at) => [`text:${at}`, { status: "ok", value }]));
  const client = openAnswer(JSON.stringify({ data: { records } }));
  const Texts = () =>
    Object.values(useRecords("a.eth").data?.records ?? {}).map(({ value }, key) =>
      createElement("p", { key }, String(value)),
    );
  const { container, read } = mount(wrap({ client }, createElement(Texts)));
  await expect.poll(read).toBe(hostile.join(""));
  expect(container.querySelectorAll("*").length).toBe(hostile.length);
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
  const noNames = { event: "healed", data: { keys: ["all"] } } as unknown;
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
    [
      "of one of several holders",
      renewal,
      ["primaryNames", [bob, `0x${alice.slice(2).toUpperCase()}`]],
      null,
      true,
    ],
    ["of none of them", renewal, ["primaryNames", [bob]], null, false],
    ["of a search", renewal, ["search", "b", {}], undefined, true],
    ["with keys of another type", event({ keys: 1 as never }), ["name", "other.eth"], plain, true],
    ["healed, without names", noNames as StreamMessage, ["name", "other.eth"], null, false],
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
