import type { Config } from "../src/config/environment.ts";
import { seeOperations } from "../src/log/json-log.ts";
import { withSection } from "../src/log/refusal.ts";
import { isDatabaseAway } from "../src/ponder/sql-client.ts";
import { examineArchive } from "./checks/archive.ts";
import { examineBlocks } from "./checks/chains.ts";
import { about, type Finding } from "./checks/finding.ts";
import { examineHistory } from "./checks/history.ts";
import { examineIndex, examineServedIndex, readKnownBlocks } from "./checks/index-state.ts";
import { examineDatabase, examineLabels, examineMachine, examinePort } from "./checks/machine.ts";
import { examineNodes, examineUrls } from "./checks/nodes.ts";
import { examineReadServers } from "./checks/read-servers.ts";
import { examineSessions } from "./checks/sessions.ts";
import { examineWebhooks } from "./checks/webhooks.ts";
import { describeError } from "./command.ts";
import { PreflightError } from "./refusal.ts";

/** Commands of Ponder that a start runs. */
export const starts = ["dev", "start", "serve"] as const;
export type Start = (typeof starts)[number];

/** A check, and what runs it: these starts, or `npm run doctor`. */
type Check = {
  subject: string;
  by: readonly (Start | "doctor")[];
  run(config: Config): Promise<Finding[]>;
};

const indexer = ["dev", "start"] as const;

/** All checks, in order. They change nothing. */
const checks: readonly Check[] = [
  { subject: "machine", by: ["doctor"], run: examineMachine },
  { subject: "webhooks", by: [...indexer, "doctor"], run: examineWebhooks },
  { subject: "port", by: [...starts, "doctor"], run: examinePort },
  { subject: "servers", by: ["serve", "doctor"], run: examineReadServers },
  { subject: "sessions", by: starts, run: examineSessions },
  { subject: "index", by: ["serve"], run: examineServedIndex },
  { subject: "RPC", by: ["dev", "doctor"], run: (config) => examineUrls(config) },
  { subject: "RPC", by: ["start"], run: (config) => examineUrls(config, () => readKnownBlocks(config)) },
  { subject: "nodes", by: ["doctor"], run: examineNodes },
  { subject: "archive", by: [...indexer, "doctor"], run: examineArchive },
  { subject: "labels", by: [...indexer, "doctor"], run: examineLabels },
  { subject: "database", by: ["doctor"], run: examineDatabase },
  { subject: "index", by: ["start", "doctor"], run: examineIndex },
  { subject: "blocks", by: [...indexer, "doctor"], run: examineBlocks },
  { subject: "history", by: [...indexer, "doctor"], run: examineHistory },
];

function collectFindings({ subject, run }: Omit<Check, "by">, config: Config): Promise<Finding[]> {
  return run(config).catch((error: Error) => {
    if (isDatabaseAway(error))
      return [about(subject).away("The database does not respond", "Start it, or correct DATABASE_URL.")];
    const message = describeError(error);
    if (typeof message !== "string") throw error;
    return [about(subject).fail(message, "")];
  });
}

/** Findings of `npm run doctor`. */
export async function examine(config: Config): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const check of checks.filter(({ by }) => by.includes("doctor"))) {
    const found = await collectFindings(check, config);
    findings.push(...found);
    // An unusable database makes checks of its content pointless.
    if (check.subject === "database" && found.some(({ state }) => state === "fail" || state === "away"))
      break;
  }
  return findings;
}

type Tools = { log(message: string): void; wait(milliseconds: number): Promise<void> };

const pause = 2_000;

/**
 * Runs the checks of a start: logs warnings, and waits while a dependency is unavailable. Throws a PreflightError that
 * says what to correct.
 */
export async function requireSound(start: Start, config: Config, tools: Tools): Promise<void> {
  for (const check of checks.filter(({ by }) => by.includes(start))) await waitForCheck(check, config, tools);
}

/** Repeats a check while a dependency is unavailable, then logs warnings. Throws a PreflightError for a failure. */
export async function waitForCheck(
  check: Omit<Check, "by">,
  config: Config,
  { log, wait }: Tools,
): Promise<void> {
  for (let said = ""; ; await wait(pause)) {
    const findings = await collectFindings(check, config);
    const of = (...states: Finding["state"][]) => findings.filter(({ state }) => states.includes(state));
    const [fault] = of("fail");
    if (fault !== undefined) throw new PreflightError(formatFinding(fault), { section: fault.section });
    const away = of("away");
    const text = away.map(({ found }) => found).join("; ");
    if (away[0] !== undefined && text !== said)
      log(
        withSection(
          `${text}; trying again every ${pause / 1_000} s. ${away[0].remedy}`.trim(),
          pickSection(away[0]),
        ),
      );
    said = text;
    if (away.length > 0) continue;
    for (const finding of of("warning")) log(withSection(formatFinding(finding), pickSection(finding)));
    return;
  }
}

const formatFinding = ({ found, remedy = "" }: Finding) =>
  `${found}${found.endsWith(".") ? "" : "."} ${remedy}`.trim();

const sections = {
  away: seeOperations("When a dependency is unavailable"),
  warning: seeOperations("Before a start"),
};

const pickSection = ({ state, section }: Finding) =>
  section ?? sections[state === "away" ? state : "warning"];
