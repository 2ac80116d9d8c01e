import { join, relative } from "node:path";
import { expect, test } from "vitest";
// @ts-expect-error: plain JavaScript, since it runs before anything else.
import { glob } from "./indexing-files.mjs";

const root = join(import.meta.dirname, "..");
const roomsOf = (files: string[]) => [
  ...new Set(files.map((file) => relative(root, file).split("/").slice(0, 2).join("/"))),
];

test("the build id depends on what determines rows, not on what reads or serves them", () => {
  const rooms = roomsOf(glob.sync(`${root}/src/**/*.{js,mjs,ts,mts}`, { ignore: [] }));
  expect(rooms).toEqual(expect.arrayContaining(["src/index.ts", "src/indexing", "src/plugins"]));
  for (const room of ["api", "feed", "read", "service", "status"]) expect(rooms).not.toContain(`src/${room}`);
  expect(roomsOf(glob.sync(`${root}/src/api/**/*.{js,mjs,ts,mts}`))).toEqual(
    ["api", "feed", "read", "service", "status"].map((room) => `src/${room}`),
  );
});
