import { expect, test } from "vitest";
import type { Entities } from "../../../devnet/entities.ts";
import { readFixture, recordedEntities } from "../../../test/support/recordings.ts";

const idOf = (value: unknown) => String((value as { id?: unknown } | null)?.id ?? value);

// `firstGenerationJoins` looks no further where a name lacks them. The entities are those of the original mapping.
test.each([
  ["root chain", recordedEntities()],
  ["layer-two chains", readFixture("l2-entities.json.gz") as Entities],
])(
  "%s: a name with a registration has a registrant, one with an entry of the wrapper a wrapped owner",
  (_, entities) => {
    const domains = new Map(Object.values(entities["Domain"] ?? {}).map((domain) => [idOf(domain), domain]));
    const lacking = (type: string, member: string) => {
      const all = Object.values(entities[type] ?? {});
      expect(all.length).toBeGreaterThan(10);
      return all.filter(({ domain }) => domains.get(idOf(domain))?.[member] == null);
    };
    expect(lacking("Registration", "registrant")).toEqual([]);
    expect(lacking("WrappedDomain", "wrappedOwner")).toEqual([]);
  },
);
