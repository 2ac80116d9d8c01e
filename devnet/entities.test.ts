import { expect, test } from "vitest";
import { compareEntities, type Entities } from "./entities.ts";

// What `readEntities` reads of a service, and relations that dangle, every test compares that indexes the recording.

const account = { id: "0xaa" };
const domain = { id: "0x01", name: "eth", owner: "0xaa", resolver: null, subdomainCount: 1 };
const expected: Entities = { Account: [account], Domain: [domain], NewResolver: [] };

test("reports missing, unexpected and different entities", () => {
  const got = { Account: [{ id: "0xbb" }], Domain: [{ ...domain, name: null, subdomainCount: 2 }] };
  expect(compareEntities(expected, got)).toEqual({
    total: 2,
    equal: 0,
    acceptedFields: 0,
    differences: [
      "Account 0xaa is missing",
      "Account 0xbb is too many",
      'Domain 0x01: name null instead of "eth", subdomainCount 2 instead of 1',
    ],
  });
});

test("an accepted value counts as equal, any other does not", () => {
  const accepted = { Domain: { "0x01": { name: [null] } } };
  const withName = (name: unknown) => ({ ...expected, Domain: [{ ...domain, name }] });
  expect(compareEntities(expected, withName(null), accepted)).toMatchObject({ equal: 2, acceptedFields: 1 });
  expect(compareEntities(expected, withName("other"), accepted)).toMatchObject({
    equal: 1,
    acceptedFields: 0,
  });
});
