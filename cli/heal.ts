import type { Hex } from "viem";
import type { Config } from "../src/config/environment.ts";
import { isUsableLabel } from "../src/ens/labels.ts";
import { interpretedLabel } from "../src/ens/normalization.ts";
import { openLabels } from "../src/labels/open-labels.ts";
import { escapeControls, formatSpan } from "../src/log/json-log.ts";
import {
  type Coverage,
  isUnknown,
  kindOfNameSql,
  readLabelCoverage,
} from "../src/operations/label-coverage.ts";
import { describeProgress, type Healing, readStatuses } from "../src/operations/stored-indexes.ts";
import { quoted, type Statement } from "../src/ponder/sql-client.ts";
import { createProgram, loadConfig, print, runProgram } from "./command.ts";
import { beginSnapshot, withDatabase } from "./database.ts";

const heal = createProgram(
  "heal",
  "Shows the healing progress of the index in DATABASE_SCHEMA to a newer version of its label set, and how many labels it knows. LABELS_HEAL=true heals it.",
)
  .option(
    "--dry-run",
    "counts the unknown labels that LABEL_SET_VERSION of the label source knows; changes nothing",
  )
  .action(({ dryRun }) =>
    print(
      withDatabase(loadConfig(), async (run) => {
        const config = loadConfig();
        const { labels } = await readStatuses(run, config.databaseSchema);
        await beginSnapshot(run, config);
        return dryRun
          ? countKnown(run, config)
          : describe(labels, (await readLabelCoverage(run, config.databaseSchema)).counts, Date.now());
      }),
    ),
  );

const formatPercent = (part: number, all: number) => (all === 0 ? "100.0" : ((part / all) * 100).toFixed(1));
const formatCount = (count: number) => count.toLocaleString("en");

/** The state of an index as text; `now` in Unix milliseconds. */
export function describe(healing: Healing | undefined, coverage: readonly Coverage[], now: number): string {
  const lines = coverage.map(
    ({ of, names, unknown }) =>
      `  ${of}: ${formatPercent(names - unknown, names)} % of ${formatCount(names)} labels are known, ${formatCount(unknown)} unknown`,
  );
  return [...describeState(healing, now), ...lines].map(escapeControls).join("\n");
}

function describeState(healing: Healing | undefined, now: number): string[] {
  if (healing === undefined) return ["The index has the version of the label set with which it began."];
  const { from, to, part, asked, healed, startedAt, endedAt = now } = healing;
  const seconds = (endedAt - startedAt) / 1_000;
  const rate =
    seconds > 0 ? ` in ${formatSpan(seconds)}, ${formatCount(Math.round(asked / seconds))} a second` : "";
  const counts = `${formatCount(healed)} of ${formatCount(asked)} rows without a label healed${rate}`;
  if (part === "done") return [`Healed from version ${from} to ${to}: ${counts}.`];
  const { percent: done, secondsLeft } = describeProgress(healing, now);
  const left = secondsLeft === undefined ? "" : `, about ${formatSpan(secondsLeft)} left for them`;
  return [
    `Healing from version ${from} to ${to}: ${done.toFixed(1)} % of ${part} are done${left}; ${counts}.`,
  ];
}

const batch = 10_000;

/** How many unknown labels a version of the label source knows, by kind, as text. */
async function countKnown(run: Statement, config: Config): Promise<string> {
  const { labelsUrl: url, labelSet, databaseSchema, isSubgraphCompatible } = config;
  const own = quoted(databaseSchema);
  const labels = await openLabels({ url, ...labelSet, log: () => undefined });
  const kinds = new Map<string, { unknown: number; known: number }>();
  try {
    for (let after = ""; ; ) {
      const { rows } = await run(
        `SELECT d.id, d.labelhash, ${kindOfNameSql(own)} AS kind FROM domain d WHERE ${isUnknown} AND d.id > $1
          ORDER BY d.id LIMIT ${batch}`,
        [after],
      );
      const hashes = rows.map(({ labelhash }) => labelhash as Hex);
      await labels.expect?.(hashes);
      for (const [index, { kind }] of rows.entries()) {
        const counts = kinds.get(String(kind)) ?? { unknown: 0, known: 0 };
        kinds.set(String(kind), counts);
        counts.unknown += 1;
        const hash = hashes[index] as Hex;
        const label = await labels.heal(hash);
        const isUsable = label !== undefined && label !== "" && isUsableLabel(label);
        if (isUsable && (isSubgraphCompatible || interpretedLabel(hash, label) === label)) counts.known += 1;
      }
      if (rows.length < batch) break;
      after = String(rows.at(-1)?.["id"]);
    }
  } finally {
    await labels.close();
  }
  const lines = [...kinds]
    .sort(([one], [other]) => one.localeCompare(other))
    .map(
      ([kind, { unknown, known }]) =>
        `  ${kind}: ${formatCount(known)} of ${formatCount(unknown)} unknown labels`,
    );
  return [
    `Version ${labelSet.labelSetVersion} of the label set knows:`,
    ...(lines.length > 0 ? lines : ["  nothing is unknown"]),
  ].join("\n");
}

await runProgram(heal, import.meta.url);
