import { expect, test } from "vitest";
import { HttpError } from "../../http/error.ts";
import { buildLink } from "../kit/endpoint.ts";
import type { PageSources } from "./ask.ts";
import { createFrame } from "./frame.ts";
import { statsRoutes } from "./stats-page.ts";

// An index with names and records alone, whose labels nobody has counted yet.
const replies: Readonly<Record<string, unknown>> = {
  "/v1/stats/holders": { data: [] },
  "/v1/stats/labels": new HttpError(503, "Nothing is counted yet.", { code: "overloaded" }),
  "/v1/stats/top-parents": { data: [{ namehash: `0x${"ab".repeat(32)}`, name: "a.eth", subname_count: 7 }] },
  "/v1/stats/classes": { data: [] },
};
const ask: PageSources["ask"] = async (request) => {
  const [path = ""] = buildLink(request).split("?");
  const reply = replies[path] ?? new HttpError(503, "A plugin is not active.", { code: "plugin" });
  if (reply instanceof HttpError) throw reply;
  return reply as never;
};

test("figures are those that the index has, with why others of them are missing", async () => {
  const sources = { status: { current: () => undefined }, clock: () => 0, log: () => undefined, ask };
  const response = await statsRoutes(sources, createFrame("0.0.0", false)).request("/stats");
  const cards = (await response.text()).split("<h2>").slice(1);
  expect(cards.map((card) => card.replace(/<.*/s, ""))).toEqual([
    ...["Holders", "Unknown labels", "Names with the most subnames", "Classes of names"],
  ]);
  for (const [at, words] of [
    "None in these periods.",
    "Nothing is counted yet.",
    ">7<",
    "No name has a class.",
  ].entries())
    expect(cards[at]).toContain(words);
});
