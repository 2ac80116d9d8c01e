import { expect, test } from "vitest";
import { apiKeysFrom } from "./api-keys-file.ts";
import { parseEnvironment } from "./environment.ts";

const sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const read = (value: unknown) => {
  const faults: string[] = [];
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return { keys: apiKeysFrom("keys.json", () => text, faults), faults };
};
const fault = (text: string) => `API_KEYS_FILE: ${text}. See docs/operations.md#api-keys.`;

test("a key has a name, a hash, a budget, and paths if it may not ask for all", () => {
  const given = { keys: [{ name: "wallet", sha256, budget: 6_000 }], anonymous: { budget: 60 } };
  expect(read(given)).toEqual({
    keys: { ...given, keys: [{ ...given.keys[0], paths: ["/"] }] },
    faults: [],
  });
  expect(apiKeysFrom(undefined, () => "", [])).toBeUndefined();
});

test("every fault is told", () => {
  const { faults, keys } = read({
    keys: [
      { name: "Wallet", sha256: "abc", budget: 0 },
      { name: "a", sha256, budget: 1.5, paths: ["v1"] },
    ],
    anonymous: {},
  });
  expect(keys).toBeUndefined();
  expect(faults).toEqual(
    [
      "keys.0.name: must be 1 to 50 characters: a to z, digits, and - within",
      "keys.0.sha256: must be the SHA-256 of the key as 64 lower-case hex digits",
      "keys.0.budget: must be 1 or more",
      "keys.1.budget: must be a whole number of units",
      "keys.1.paths.0: must begin with /",
      "anonymous.budget: must be a whole number of units",
    ].map(fault),
  );
  const twice = {
    keys: [
      { name: "a", sha256, budget: 1 },
      { name: "a", sha256, budget: 1 },
    ],
  };
  expect(read(twice).faults).toEqual(
    ["keys.1.name: another key has it", "keys.1.sha256: another key has it"].map(fault),
  );
  expect(read("{").faults).toEqual(['API_KEYS_FILE "keys.json" cannot be used: it is no JSON.']);
  const environment = { NAMESPACE: "mainnet", API_KEYS_FILE: "keys.json", PORT: "x" };
  expect(() => parseEnvironment(environment, () => "[]")).toThrow(
    fault("the file: Invalid input: expected object, received array"),
  );
});
