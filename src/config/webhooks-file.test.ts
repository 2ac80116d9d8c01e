import { expect, test } from "vitest";
import { parseEnvironment } from "./environment.ts";
import { webhooksFrom } from "./webhooks-file.ts";

const bytes = (count: number) => Buffer.alloc(count, 7).toString("base64");
const secret = `whsec_${bytes(24)}`;
const hook = { name: "wallet", url: "https://example.org/hook", secret };
const read = (value: unknown) => {
  const faults: string[] = [];
  const hooks = webhooksFrom(
    "a.json",
    () => (typeof value === "string" ? value : JSON.stringify(value)),
    faults,
  );
  return { hooks, faults };
};
const unset = {
  ...{ events: true, reminders: [] },
  ...{ finality: "latest", from: "latest", allowPrivate: false },
};
const fault = (text: string) => `WEBHOOKS_FILE: ${text}. See docs/webhooks.md.`;

test("a hook needs a name, a URL and a secret", () => {
  expect(read([hook])).toEqual({
    hooks: [{ ...hook, filter: {}, ...unset }],
    faults: [],
  });
  const full = {
    ...{ ...hook, privateKey: `whsk_${bytes(32)}`, filter: { type: "renewal", name: "vitalik.eth" } },
    ...{ finality: "finalized", from: "start", allowPrivate: true, events: false },
    reminders: ["3650d", "1h", "grace_begins", "grace_ends", "premium_ends"],
  };
  expect(read([full]).hooks).toEqual([full]);
  expect(webhooksFrom(undefined, () => "", [])).toEqual([]);
});

test("every fault is told, and no secret", () => {
  const short = `whsec_${bytes(23)}`;
  const { faults, hooks } = read([
    { ...hook, url: "ftp://example.org", secret: short, privateKey: "whsk_x" },
    { ...hook, finality: "safe", from: "1:5", filters: {} },
    { name: "Wallet One", url: "https://example.org" },
    { ...hook, name: "b", secret: `whsec_${"*".repeat(32)}` },
    7,
  ]);
  expect(hooks).toEqual([]);
  expect(faults).toEqual(
    [
      "0.url: must be an http(s):// URL",
      "0.secret: must be whsec_ and 24 to 64 bytes in base64",
      "0.privateKey: must be whsk_ and 32 or 64 bytes in base64",
      "1.finality: must be latest or finalized",
      "1.from: must be latest or start",
      '1: Unrecognized key: "filters"',
      "2.name: must be 1 to 50 characters: a to z, digits, and - within",
      "2.secret: must be whsec_ and 24 to 64 bytes in base64",
      "3.secret: must be whsec_ and 24 to 64 bytes in base64",
      "4: Invalid input: expected object, received number",
      "1.name: another hook has it",
    ].map(fault),
  );
  expect(faults.join()).not.toContain(short);
});

test("reminders are known words, each once", () => {
  const known = "must be <n>d or <n>h from 1h to 87600h, grace_begins, grace_ends, premium_ends";
  const { faults } = read([
    { ...hook, reminders: ["0d", "3651d", "30", "grace_end", "1h"] },
    { ...hook, name: "b", reminders: ["1d", "24h"] },
    { ...hook, name: "c", events: false },
    { ...hook, name: "d", reminders: Array.from({ length: 11 }, (_, index) => `${index + 1}d`) },
    { ...hook, name: "e", reminders: "7d", events: "no" },
  ]);
  expect(faults).toEqual(
    [
      `0.reminders.0: ${known}`,
      `0.reminders.1: ${known}`,
      `0.reminders.2: ${known}`,
      `0.reminders.3: ${known}; did you mean grace_ends?`,
      "1.reminders: must name each once",
      "2.events: cannot be false without reminders",
      "3.reminders: must have at most 10",
      "4.events: Invalid input: expected boolean, received string",
      "4.reminders: Invalid input: expected array, received string",
    ].map(fault),
  );
});

test.each([
  [`[{"secret":"${secret}`, 'WEBHOOKS_FILE "a.json" cannot be used: it is no JSON.'],
  ["{}", fault("the file: Invalid input: expected array, received object")],
  [
    JSON.stringify(Array.from({ length: 51 }, (_, index) => ({ ...hook, name: `h${index}` }))),
    fault("the file: must have at most 50 hooks"),
  ],
])("refuses %.20s", (text, expected) => {
  expect(read(text).faults).toEqual([expected]);
});

test("faults stand among those of the environment", () => {
  const environment = { NAMESPACE: "mainnet", WEBHOOKS_FILE: "hooks.json", PORT: "x" };
  const parse = () => parseEnvironment(environment, () => JSON.stringify([{ ...hook, url: "x" }]));
  expect(parse).toThrow(fault("0.url: must be an http(s):// URL"));
  expect(parse).toThrow("PORT must be a whole number");
});
