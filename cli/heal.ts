import type { Hex } from "viem";
import type { Config } from "../src/config/environment.ts";
import { addrReverseNode } from "../src/ens/ids.ts";
import { openLabels } from "../src/labels/open-labels.ts";
import { escapeControls, spanOf } from "../src/log/json-log.ts";
import { unknownDomains } from "../src/operations/heal-labels.ts";
import { type Healing, statusOf } from "../src/operations/stored-indexes.ts";
import type { Statement } from "../src/ponder/sql-client.ts";
import { loadConfig, print, program, runProgram, whole } from "./command.ts";
import { beginSnapshot, PreflightError, withDatabase } from "./database.ts";

const heal = program(
  "heal",
  "Shows how far the index of DATABASE_SCHEMA is healed to a newer version of its label set, and how many labels it knows. LABELS_HEAL=true heals it.",
)
  .option("--to <version>", "with --dry-run: the version to ask", whole)
  .option("--dry-run", "counts the unknown labels that a version of the label source knows; changes nothing")
  .action(({ to, dryRun }) => {
    if (to !== undefined && !dryRun)
      throw new PreflightError(
        `The indexer heals: set LABEL_SET_VERSION=${to} and LABELS_HEAL=true, and restart it.`,
      );
    return print(
      withDatabase(loadConfig(), async (run) => {
        const config = loadConfig();
        const { labels } = await statusOf(run, config.databaseSchema);
        await beginSnapshot(run, config);
        const version = to ?? config.labelSet.labelSetVersion;
        return dryRun
          ? countKnown(run, config, version)
          : describe(labels, await coverageOf(run), Date.now());
      }),
    );
  });

const isUnknown = "(labelhash IS NOT NULL AND (label_name IS NULL OR label_name LIKE '[%'))";

type Coverage = { parent: string; names: number; unknown: number };

/** The numbers of names below the ten parents with most unknown labels. */
async function coverageOf(run: Statement): Promise<Coverage[]> {
  const { rows } =
    await run(`SELECT coalesce(nullif(p.name, ''), 'the root') AS parent, c.names, c.unknown FROM (
      SELECT parent_id, count(*)::int AS names, (count(*) FILTER (WHERE ${isUnknown}))::int AS unknown
      FROM domain WHERE parent_id IS NOT NULL GROUP BY 1 ORDER BY 3 DESC, 2 DESC, 1 LIMIT 10
    ) c LEFT JOIN domain p ON p.id = c.parent_id ORDER BY 3 DESC, 2 DESC, 1`);
  return rows as Coverage[];
}

const percent = (part: number, all: number) => (all === 0 ? "100.0" : ((part / all) * 100).toFixed(1));
const grouped = (count: number) => count.toLocaleString("en");

/** The state of an index as text; `now` in Unix milliseconds. */
export function describe(healing: Healing | undefined, coverage: readonly Coverage[], now: number): string {
  const lines = coverage.map(
    ({ parent, names, unknown }) =>
      `  below ${parent}: ${percent(names - unknown, names)} % of ${grouped(names)} labels are known, ${grouped(unknown)} unknown`,
  );
  return [...stateOf(healing, now), ...lines].map(escapeControls).join("\n");
}

function stateOf(healing: Healing | undefined, now: number): string[] {
  if (healing === undefined) return ["The index has the version of the label set with which it began."];
  const { from, to, part, cursor, asked, healed, startedAt, endedAt = now } = healing;
  const seconds = (endedAt - startedAt) / 1_000;
  const rate = seconds > 0 ? ` in ${spanOf(seconds)}, ${grouped(Math.round(asked / seconds))} a second` : "";
  const counts = `${grouped(healed)} of ${grouped(asked)} rows without a label have one now${rate}`;
  if (part === "done") return [`Healed from version ${from} to ${to}: ${counts}.`];
  // Ids are hashes, so they are spread evenly.
  const share =
    part === "registration" || part === "domain"
      ? Number.parseInt(cursor.slice(2, 8) || "0", 16) / 2 ** 24
      : 1;
  const left =
    share > 0 && part === "domain" ? `, about ${spanOf((seconds * (1 - share)) / share)} left for them` : "";
  return [
    `Healing from version ${from} to ${to}: ${percent(share, 1)} % of ${part} are done${left}; ${counts}.`,
  ];
}

const batch = 10_000;

/** How many unknown labels a version of the label source knows, by kind, as text. */
async function countKnown(run: Statement, config: Config, labelSetVersion: number): Promise<string> {
  const log = () => undefined;
  const labels = await openLabels({ url: config.labelsUrl, ...config.labelSet, labelSetVersion, log });
  const kinds = new Map<string, { unknown: number; known: number }>();
  try {
    for (let after = ""; ; ) {
      const { rows } = await run(
        `SELECT d.id, d.labelhash, CASE WHEN d.parent_id = '${addrReverseNode}' THEN 'reverse names'
            WHEN EXISTS (SELECT FROM registration r WHERE r.domain_id = d.id) THEN 'registered names' ELSE 'other names' END AS kind
          FROM domain d WHERE ${unknownDomains} AND ${isUnknown} AND d.id > $1
          ORDER BY d.id LIMIT ${batch}`,
        [after],
      );
      const hashes = rows.map(({ labelhash }) => labelhash as Hex);
      await labels.expect?.(hashes);
      for (const [index, { kind }] of rows.entries()) {
        const counts = kinds.get(String(kind)) ?? { unknown: 0, known: 0 };
        kinds.set(String(kind), counts);
        counts.unknown += 1;
        if ((await labels.heal(hashes[index] as Hex)) !== undefined) counts.known += 1;
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
      ([kind, { unknown, known }]) => `  ${kind}: ${grouped(known)} of ${grouped(unknown)} unknown labels`,
    );
  return [
    `Version ${labelSetVersion} of the label set knows:`,
    ...(lines.length > 0 ? lines : ["  nothing is unknown"]),
  ].join("\n");
}

await runProgram(heal, import.meta.url);
