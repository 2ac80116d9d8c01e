// Makes a release: `npm run release -- <version> [--dry-run]`. Sets the version everywhere, dates the changelog's section,
// commits and tags. It publishes nothing: .github/workflows/release.yml does, for a pushed tag.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";

// Where the version stands.
const places: [file: string, version: RegExp][] = [
  ["package.json", /(?<=^ {2}"version": ")[^"]+/m],
  [
    "package-lock.json",
    /(?<=^ {2}"version": "|^ {4}"(client)?": \{\n {6}"name": "[^"]+",\n {6}"version": ")[^"]+/gm,
  ],
  ["client/package.json", /(?<=^ {2}"version": ")[^"]+/m],
  ["deploy/helm/nsindex/Chart.yaml", /(?<=^version: |^appVersion: ")[^"\n]+/gm],
  ["deploy/helm/nsindex/README.md", /(?<=registry\.example\/nsindex:)\S+/g],
];

const runGit = (...args: string[]) => execFileSync("git", args, { encoding: "utf8" }).trim();

function refuse(reason: string): never {
  console.error(reason);
  process.exit(1);
}

function readArguments(): { version: string; isDry: boolean } {
  try {
    const options = { "dry-run": { type: "boolean", default: false } } as const;
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    const [version = "", ...others] = positionals;
    if (others.length === 0 && /^\d+\.\d+\.\d+$/.test(version)) return { version, isDry: values["dry-run"] };
  } catch {
    // An option that there is not.
  }
  return refuse("Usage: npm run release -- <version> [--dry-run], with a version like 1.2.3");
}

function readRelease(version: string): Map<string, string> {
  if (runGit("status", "--porcelain") !== "")
    refuse("The working tree has changes. Commit or remove them first.");
  if (runGit("tag", "--list", `v${version}`) !== "")
    refuse(`The tag v${version} exists. Choose another version.`);
  const changelog = readFileSync("CHANGELOG.md", "utf8");
  const heading = `## ${version} (unreleased)`;
  if (!changelog.includes(`\n${heading}\n`))
    refuse(`CHANGELOG.md has no heading "${heading}". Write that section first.`);
  const dated = `## ${version} (${new Date().toISOString().slice(0, 10)})`;
  return new Map([
    ["CHANGELOG.md", changelog.replace(heading, dated)],
    ...places.map(([file, pattern]): [string, string] => {
      const text = readFileSync(file, "utf8");
      if (text.search(pattern) === -1) refuse(`${file} has no version where deploy/release.ts expects it.`);
      return [file, text.replace(pattern, version)];
    }),
  ]);
}

const { version, isDry } = readArguments();
const files = readRelease(version);
const commands = [
  ["commit", "--quiet", "--allow-empty", "--message", `Release ${version}`, "--", ...files.keys()],
  ["tag", "--annotate", `v${version}`, "--message", `nsindex ${version}`],
];
for (const [file, text] of files) {
  console.log(`${isDry ? "would write" : "writes"} ${file}`);
  if (!isDry) writeFileSync(file, text);
}
for (const command of commands) {
  console.log(`${isDry ? "would run" : "runs"} git ${command.join(" ")}`);
  if (!isDry) runGit(...command);
}
if (!isDry) console.log(`Publish it with: git push origin HEAD v${version}`);
