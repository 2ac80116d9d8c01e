import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

// A search for a name finds one thing. Names within a file that nobody imports may repeat, types excepted.
const declared =
  /^(?:export (?:async )?(?:function\*?|const|let) (\w+)|(?:export )?(?:type|interface|class|enum) (\w+))/gm;

test("no exported name and no type has two declarations in src", () => {
  const places = new Map<string, Set<string>>();
  for (const file of globSync("src/**/*.ts"))
    if (!file.endsWith(".test.ts"))
      for (const [, value, type] of readFileSync(file, "utf8").matchAll(declared)) {
        const name = value ?? type ?? "";
        places.set(name, (places.get(name) ?? new Set()).add(file));
      }
  expect(places.size).toBeGreaterThan(1_000);
  expect([...places].filter(([, files]) => files.size > 1)).toEqual([]);
});

test("comments end within 120 columns", () => {
  const files = globSync(["src/**/*.ts", "labels-service/**/*.ts", "cli/**/*.{ts,mjs}"]);
  const isLong = (line: string) => line.length > 120 && /^\s*(\/\/|\/?\*)(?!.*@example)/.test(line);
  const long = files.flatMap((file) => readFileSync(file, "utf8").split("\n").filter(isLong));
  expect(files.length).toBeGreaterThan(500);
  expect(long).toEqual([]);
});
