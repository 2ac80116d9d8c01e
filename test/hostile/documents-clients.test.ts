import { readFileSync } from "node:fs";
import { getIntrospectionQuery } from "graphql";
import { describe, expect, test } from "vitest";
import { defaultSubgraphLimits } from "../../src/config/limits.ts";
import { type PricedQuery, priceOf } from "../support/subgraph/price.ts";

// What known clients send stays far below every limit.

type Case = PricedQuery & { name: string };

const fixture = new URL("../fixtures/client-queries.json", import.meta.url);
const cases: Case[] = JSON.parse(readFileSync(fixture, "utf8"));
const tools: Case[] = [{ name: "a code generator's introspection", query: getIntrospectionQuery() }];

describe("costs less than a tenth of every limit", () => {
  test.each([...cases, ...tools])("$name", async (query) => {
    const price = await priceOf(query);
    for (const [name, amount] of Object.entries(price)) {
      if (!(name in defaultSubgraphLimits)) continue;
      const limit = defaultSubgraphLimits[name as keyof typeof defaultSubgraphLimits];
      expect(amount * 10, name).toBeLessThanOrEqual(limit);
    }
  });
});
