import { describe, expect, test } from "vitest";
import cases from "../../test/fixtures/subgraph-cases.json" with { type: "json" };
import scenarios from "../../test/fixtures/subgraph-scenarios.json" with { type: "json" };
import { createSubgraphHarness, type GivenEvent } from "../../test/support/handlers.ts";
import { isUsableLabel } from "../ens/labels.ts";
import * as tables from "../schema/subgraph.ts";

const contractNames: Record<string, string> = {
  Registry: "ENSv1Registry",
  RegistryOld: "ENSv1RegistryOld",
  ENSRegistry: "ENSv1Registry",
};

const toGiven = (event: { contract: string }) =>
  ({
    ...event,
    ...(event.contract.startsWith("0x") ? { contract: "Resolver", address: event.contract } : {}),
    ...(contractNames[event.contract] ? { contract: contractNames[event.contract] } : {}),
  }) as GivenEvent;

describe("scenarios of the original mapping", () => {
  test.each(scenarios.scenarios.map((scenario) => [scenario.name, scenario] as const))(
    "%s",
    async (_, scenario) => {
      const harness = createSubgraphHarness({ labels: scenario.knownLabels });
      for (const event of scenario.events) await harness.play(toGiven(event));
      expect(harness.entities()).toEqual(scenario.expect);
    },
  );
});

// The original's test harness answers each lookup with one text, which no case asserts; here no label is known.
describe("cases of the original's own tests", () => {
  test.each(cases.cases.map((item) => [`${item.id}: ${item.test}`, item] as const))(
    "%s",
    async (_, { given, expect: expected }) => {
      const harness = createSubgraphHarness();
      const before = harness.entities();
      for (const [index, step] of (given as Step[]).entries()) {
        if (step.label !== undefined) {
          const [{ valid } = { valid: undefined }] = expected as { valid?: boolean }[];
          expect(isUsableLabel(step.label)).toBe(valid);
        }
        for (const entity of step.store === "empty" ? [] : (step.store ?? [])) storeEntity(harness, entity);
        if (step.contract) await harness.play({ ...toGiven(step as never), block: 1, logIndex: index + 1 });
        for (const check of step.expectAfter ?? []) checkEntity(harness.entities(), before, check);
      }
      for (const check of expected as Check[]) checkEntity(harness.entities(), before, check);
    },
  );
});

type Step = {
  label?: string;
  contract?: string;
  store?: "empty" | Record<string, unknown>[];
  expectAfter?: Check[];
};

type Check = {
  entity?: string;
  id: string;
  field: string;
  equals?: unknown;
  value?: unknown;
  before?: string;
  after?: string;
};

type Entities = ReturnType<ReturnType<typeof createSubgraphHarness>["entities"]>;

function checkEntity(entities: Entities, before: Entities, check: Check): void {
  if (check.entity === undefined) return;
  const entity = entities[check.entity]?.[check.id];
  if (check.after === "present") {
    expect(before[check.entity]?.[check.id]).toBeUndefined();
    expect(entity).toBeDefined();
    return;
  }
  expect(entity?.[check.field] ?? null).toEqual(check.value ?? check.equals ?? null);
}

// Cases put entities straight into the store before the event that they are about.
function storeEntity(
  { store }: ReturnType<typeof createSubgraphHarness>,
  { entity, id, ...fields }: Record<string, unknown>,
): void {
  const table = {
    Domain: tables.domain,
    Registration: tables.registration,
    WrappedDomain: tables.wrappedDomain,
  }[String(entity)];
  if (!table) throw new Error(`no table for ${String(entity)}`);
  const stored = store.rows(table).find((row) => row["id"] === id);
  const relations = ["owner", "registrant", "parent", "domain", "wrappedOwner", "resolver"];
  const row: Record<string, unknown> = { changeBlock: 0, ...stored, id };
  for (const [name, value] of Object.entries(fields))
    row[relations.includes(name) ? `${name}Id` : name] = value;
  store.set(table, row);
}
