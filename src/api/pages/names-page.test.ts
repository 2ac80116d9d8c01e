import { expect, test } from "vitest";
import { HttpError } from "../../http/error.ts";
import { type BodyOf, buildLink } from "../kit/endpoint.ts";
import type { PageSources } from "./ask.ts";
import { createFrame } from "./frame.ts";
import { namesRoutes } from "./names-page.ts";

const now = 1_800_000_000;
const row = {
  name: "a.eth",
  display_name: "a.eth",
  namespace: "ens",
  namehash: `0x${"ab".repeat(32)}`,
  status: "active",
};

// `/v1` with one name in each list; `asked`: the requests for lists.
function appOf(refusal?: HttpError) {
  const asked: string[] = [];
  const ask: PageSources["ask"] = async (request) => {
    const path = buildLink(request);
    if (path.startsWith("/v1/lookup")) return new Map() as never;
    asked.push(decodeURIComponent(path));
    if (refusal !== undefined) throw refusal;
    const page = { next_cursor: "next", total_count: null };
    return { data: [row, { ...row, name: "=1+1.eth" }], page } as unknown as BodyOf<typeof request.endpoint>;
  };
  const status = { current: () => undefined };
  const sources = { status, clock: () => now * 1_000, log: () => undefined, ask };
  const app = namesRoutes(sources, { ...createFrame("0.0.0", false), namespaces: ["ens", "basenames"] });
  return { asked, get: async (query: string) => app.request(`/names${query}`) };
}

// Grace periods last 90 days, premiums 21 (ENS).
const day = 86_400;
test.each([
  ["", `/v1/names?namespace=ens&expires_after=${now}&page_size=50`],
  [
    "?list=grace&namespace=basenames",
    `/v1/names?namespace=basenames&grace_ends_after=${now}&grace_ends_before=${now + 90 * day}&page_size=50`,
  ],
  [
    "?list=premium&max_length=3",
    `/v1/names?namespace=ens&grace_ends_before=${now}&grace_ends_after=${now - 21 * day}&order=desc&page_size=50&max_length=3`,
  ],
  [
    "?list=released&cursor=x",
    `/v1/names?namespace=ens&grace_ends_before=${now - 21 * day}&order=desc&page_size=50&cursor=x`,
  ],
  [
    "?parent=b.eth&sort=expires_at&q=x&match=contains",
    "/v1/names/b.eth/subnames?page_size=50&sort=expires_at&q=x&match=contains",
  ],
  [`?owner=0x${"1".repeat(40)}`, `/v1/addresses/0x${"1".repeat(40)}/names?page_size=50`],
  ["?q=vita", "/v1/search?match=contains&page_size=50&q=vita"],
])("/names%s", async (query, request) => {
  const { asked, get } = appOf();
  const response = await get(query);
  expect([response.status, asked]).toEqual([200, [request]]);
  expect(await response.text()).toMatch(/cursor=next" rel="next">Next page</);
});

test("a refused list has its status, its reason, and still its filters", async () => {
  const response = await appOf(new HttpError(400, "owner must be an address")).get("?owner=x");
  const text = await response.text();
  expect([response.status, text.includes("owner must be an address"), text.includes("<form")]).toEqual([
    400,
    true,
    true,
  ]);
});

test("as CSV: a page of rows, the way to the next, and no formulas", async () => {
  const response = await appOf().get("?parent=b.eth&format=csv");
  expect(response.headers.get("link")).toBe('</names?parent=b.eth&format=csv&cursor=next>; rel="next"');
  const [head, , formula] = (await response.text()).split("\r\n");
  expect(head).toBe("name,namehash,status,expires_at,grace_ends_at,owner,registered_at");
  expect(formula?.startsWith("'=1+1.eth,")).toBe(true);
});
