import { spawnSync } from "node:child_process";
import { appendFileSync, cpSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { parse } from "yaml";
import { folderForEach } from "../test/support/folders.ts";

const chart = "deploy/helm/nsindex/Chart.yaml";
const packages = ["package.json", "client/package.json"];
const places = [...packages, "package-lock.json", chart, "deploy/helm/nsindex/README.md"];

const findFolder = folderForEach("nsindex-clone-");
const call = (program: string, ...args: string[]) => {
  const author = { GIT_AUTHOR_NAME: "a", GIT_COMMITTER_NAME: "a", EMAIL: "a@example.org" };
  const { status, stdout, stderr } = spawnSync(program, args, {
    ...{ cwd: findFolder(), encoding: "utf8" },
    env: { PATH: process.env["PATH"], GIT_CONFIG_GLOBAL: "/dev/null", ...author },
  });
  return { status, stdout, stderr };
};
const git = (...args: string[]) => call("git", ...args).stdout;
const release = (...args: string[]) => call(process.execPath, resolve("deploy/release.ts"), ...args);
const read = (file: string) => readFileSync(join(findFolder(), file), "utf8");

beforeEach(() => {
  for (const file of places) cpSync(file, join(findFolder(), file));
  writeFileSync(
    join(findFolder(), "CHANGELOG.md"),
    "# Changelog\n\n## 97.1.2 (unreleased)\n\nNew.\n\n## 97.1.1 (2026-01-02)\n\nOld.\n",
  );
  git("init", "--quiet");
  git("add", ".");
  git("commit", "--quiet", "--message", "Start");
});

test("sets the version everywhere, dates the changelog, commits and tags", () => {
  expect(release("97.1.2")).toMatchObject({ status: 0, stderr: "" });
  const lock = JSON.parse(read("package-lock.json"));
  const versions = packages.map((file) => JSON.parse(read(file)).version);
  expect([...versions, lock.version, lock.packages[""].version, lock.packages.client.version]).toEqual(
    Array(5).fill("97.1.2"),
  );
  expect(parse(read(chart))).toMatchObject({ version: "97.1.2", appVersion: "97.1.2" });
  expect(read("deploy/helm/nsindex/README.md").match(/example\/nsindex:[\d.]+/g)).toEqual(
    Array(2).fill("example/nsindex:97.1.2"),
  );
  expect(read("CHANGELOG.md")).toMatch(/^## 97\.1\.2 \(\d{4}-\d\d-\d\d\)$/m);
  expect(git("log", "-1", "--format=%s %D")).toContain("Release 97.1.2 HEAD -> ");
  expect(git("cat-file", "-t", "v97.1.2")).toBe("tag\n");
  expect(git("diff", "--numstat", "HEAD^")).toBe(
    [
      "1\t1\tCHANGELOG.md",
      "1\t1\tclient/package.json",
      `2\t2\t${chart}`,
      "1\t1\tdeploy/helm/nsindex/README.md",
    ]
      .concat(["3\t3\tpackage-lock.json", "1\t1\tpackage.json", ""])
      .join("\n"),
  );
  expect(git("status", "--porcelain")).toBe("");
});

test("a dry run changes nothing", () => {
  const { status, stdout } = release("97.1.2", "--dry-run");
  expect(status).toBe(0);
  expect(stdout).toContain("would write package.json\n");
  expect(stdout).toContain("would run git tag --annotate v97.1.2");
  expect([git("status", "--porcelain"), git("tag"), git("rev-list", "--count", "HEAD")]).toEqual([
    "",
    "",
    "1\n",
  ]);
});

test.each([
  ["no version", [], /^Usage: npm run release -- <version>/],
  ["a version that is none", ["v97.1.2"], /^Usage/],
  ["an option that there is not", ["97.1.2", "--publish"], /^Usage/],
  ["a version without a section", ["97.1.3"], /no heading "## 97\.1\.3 \(unreleased\)"/],
])("refuses %s", (_, args, reason) => {
  expect(release(...args)).toEqual({ status: 1, stdout: "", stderr: expect.stringMatching(reason) });
});

test("refuses a tag that exists, and changes that are not committed", () => {
  git("tag", "v97.1.2");
  expect(release("97.1.2")).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^The tag v97\.1\.2 exists/),
  });
  appendFileSync(join(findFolder(), "CHANGELOG.md"), "\n");
  expect(release("97.1.2")).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^The working tree has changes/),
  });
  expect(git("rev-list", "--count", "HEAD")).toBe("1\n");
});
