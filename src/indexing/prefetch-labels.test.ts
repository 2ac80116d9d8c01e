import { expect, test } from "vitest";
import { listLabelhashes } from "./prefetch-labels.ts";

const labelhash = `0x${"ab".repeat(32)}`;

test("expects the labels of new owners of names, of any registry, and no other argument", () => {
  const event = (name: string, args?: Record<string, unknown>) => ({
    eventCallback: { name },
    event: args === undefined ? {} : { args },
  });
  expect(
    listLabelhashes([
      event("subgraph/ENSv1Registry:NewOwner", { node: labelhash, label: labelhash }),
      event("subgraph/ENSv1Registry:Transfer", { label: labelhash }),
      event("basenames/Registry:NewOwner", { label: "0x01" }),
      event("lineanames/Registry:NewOwner"),
      { eventCallback: { name: "subgraph/ENSv1Registry:setup" } },
    ]),
  ).toEqual([labelhash, "0x01"]);
});
