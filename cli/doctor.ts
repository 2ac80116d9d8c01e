// Tries everything that a start needs and says what to do: `npm run doctor`, `npm run doctor -- --json`.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Config, ConfigurationError, misspeltVariables, readConfig } from "../src/config/environment.ts";
import { escapeControls, seeOperations } from "../src/log/json-log.ts";
import { examineArchive } from "./chain-check.ts";
import { examine } from "./doctor/checks.ts";
import { about, examineNode, type Finding } from "./doctor/machine.ts";
import { redact, secretsOf } from "./log-lines.ts";

const usage = `Usage: npm run doctor [-- --json]

Reads the configuration as a start does, tries RPC URLs, database, label source, port and clock, and prints what it found and
what to do. Nothing is changed. Exit code 1 if something has to be corrected. --json prints the same as JSON.`;

const signs = { ok: "ok  ", warning: "WARN", fail: "FAIL" } as const;

/** The findings as a table: state, subject and what was found, with what to do below. */
export function tableOf(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ subject }) => subject.length));
  const rows = findings.map(({ subject, state, found, remedy }) => {
    const row = `${signs[state]}  ${subject.padEnd(width)}  ${found}`;
    return remedy === undefined ? row : `${row}\n${" ".repeat(width + 8)}-> ${remedy}`;
  });
  const count = (state: Finding["state"]) => findings.filter((one) => one.state === state).length;
  return `${rows.join("\n")}\n\n${count("fail")} to correct, ${count("warning")} to look at. ${seeOperations("Before a start")}`;
}

/** All findings, without secrets; those of the configuration alone if it is at fault. */
async function findings(): Promise<Finding[]> {
  let config: Config;
  try {
    config = readConfig();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const faults = error.faults.map((found) => ({ subject: "configuration", state: "fail" as const, found }));
    return [...examineNode(), ...faults];
  }
  const secrets = secretsOf(config);
  const clean = (text: string) => escapeControls(redact(text, secrets));
  const misspelt = misspeltVariables(process.env).map((found) =>
    about("configuration").warning(found, "Correct or remove it."),
  );
  const found = [
    ...examineNode(),
    ...misspelt,
    ...(await examine(config)),
    ...(await archiveFindings(config)),
  ];
  return found.map(({ found, remedy, ...rest }) => ({
    ...rest,
    found: clean(found),
    ...(remedy === undefined ? {} : { remedy: clean(remedy) }),
  }));
}

/** What the archive has of each chain, if ARCHIVE names one. */
export async function archiveFindings(config: Pick<Config, "archive" | "chains">): Promise<Finding[]> {
  const states = await examineArchive(config);
  return states.map(({ chain, found, problem }) => {
    const { ok, warning, fail } = about(`archive of ${chain.name}`);
    if (problem !== undefined) return fail(problem, "Correct or remove ARCHIVE, or fetch the archive again.");
    return found === undefined
      ? warning("has no data of this chain", "Everything is asked of its RPC URLs.")
      : ok(found);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    const options = { json: { type: "boolean" }, help: { type: "boolean" } } as const;
    const { values } = parseArgs({ args: process.argv.slice(2), options });
    const envFile = join(process.cwd(), ".env.local");
    if (existsSync(envFile)) process.loadEnvFile(envFile);
    const all = values.help ? [] : await findings();
    console.log(values.help ? usage : values.json ? JSON.stringify(all, null, 2) : tableOf(all));
    if (all.some(({ state }) => state === "fail")) process.exitCode = 1;
  } catch (error) {
    if (!(error as { code?: string }).code?.startsWith("ERR_PARSE_ARGS")) throw error;
    console.error(`${(error as Error).message}\n\n${usage}`);
    process.exitCode = 1;
  }
}
