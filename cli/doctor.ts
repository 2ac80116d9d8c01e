import { ConfigurationError, misspeltVariables } from "../src/config/environment.ts";
import { escapeControlsOfLines, seeOperations } from "../src/log/json-log.ts";
import { withSection } from "../src/log/refusal.ts";
import { about, type Finding } from "./checks/finding.ts";
import { examineMachine } from "./checks/machine.ts";
import { examine } from "./checks.ts";
import { createProgram, loadConfig, runProgram } from "./command.ts";
import { listSecrets, redact } from "./log-lines.ts";

const doctor = createProgram(
  "doctor",
  "Reads the configuration as at startup, tests the RPC URLs, database, label source, port and clock, and prints what it finds and what to do. Changes nothing. Exit code 1 if something needs to be corrected.",
)
  .option("--json", "the same as JSON")
  .action(async ({ json }) => {
    const all = await collectFindings();
    if (all.some(({ state }) => state === "fail")) process.exitCode = 1;
    console.log(json ? JSON.stringify(all, null, 2) : formatTable(all));
  });

// What a start would wait for has to be corrected.
const shown = { ok: "ok", warning: "warning", away: "fail", fail: "fail" } as const;
const signs = { ok: "ok  ", warning: "WARN", fail: "FAIL" } as const;

type Shown = Pick<Finding, "subject" | "found" | "remedy"> & { state: keyof typeof signs };

/** The findings as a table: state, subject and finding, with the remedy below. */
export function formatTable(findings: readonly Shown[]): string {
  const width = Math.max(...findings.map(({ subject }) => subject.length));
  const rows = findings.map(({ subject, state, found, remedy }) => {
    const row = `${signs[state]}  ${subject.padEnd(width)}  ${found}`;
    return remedy ? `${row}\n${" ".repeat(width + 8)}-> ${remedy}` : row;
  });
  const count = (state: Shown["state"]) => findings.filter((one) => one.state === state).length;
  return `${rows.join("\n")}\n\n${count("fail")} to correct, ${count("warning")} to look at. ${seeOperations("Before a start")}`;
}

/** All findings, without secrets. An invalid configuration leaves its faults and the machine. */
async function collectFindings(): Promise<Shown[]> {
  const { warning, fail } = about("configuration");
  try {
    const config = loadConfig();
    const misspelt = misspeltVariables(process.env).map((found) => warning(found, "Correct or remove it."));
    const secrets = listSecrets(config);
    const clean = (text: string) => escapeControlsOfLines(redact(text, secrets));
    return [...misspelt, ...(await examine(config))].map(
      ({ subject, state, found, remedy = "", section = "" }) => {
        const told = withSection(remedy, section);
        return {
          ...{ subject, state: shown[state], found: clean(found) },
          ...(told === "" ? {} : { remedy: clean(told) }),
        };
      },
    );
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const faults = error.faults.map((found) => fail(found, ""));
    return [...(await examineMachine()), ...faults].map((one) => ({ ...one, state: shown[one.state] }));
  }
}

await runProgram(doctor, import.meta.url);
