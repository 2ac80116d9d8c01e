import { existsSync } from "node:fs";
import { rename, rm, writeFile as writeText } from "node:fs/promises";
import { Option } from "@commander-js/extra-typings";
import { indexedNamespaces } from "../src/api/names/indexed-namespaces.ts";
import type { Config } from "../src/config/environment.ts";
import { namespaces } from "../src/deployments/namespaces.ts";
import { escapeControls } from "../src/log/json-log.ts";
import { quoted, type Statement } from "../src/ponder/sql-client.ts";
import { loadConfig, print, program, runProgram } from "./command.ts";
import { beginSnapshot, PreflightError, readHeads, withDatabase } from "./database.ts";
import { type Format, formats, writeFile } from "./export/files.ts";
import { type FileRow, type Subject, sourceOf, subjects } from "./export/rows.ts";

/** `npm run export`. */
export const exportProgram = program(
  "export",
  `Writes all names, all leases with their dates, or all events to a file, as they were at one block of each chain. The blocks are in the metadata of a Parquet file, and in <file>.meta.json beside the others. Columns are the members of the rows under /v1. The file appears when it is complete. On Postgres the indexer may run meanwhile; the embedded database belongs to one process: stop it first.`,
)
  .addOption(new Option("--what <what>", "which rows").choices(subjects).makeOptionMandatory())
  .addOption(new Option("--format <format>", "of the file").choices(formats).makeOptionMandatory())
  .option("--output <file>", "else <what>.<format>")
  .option("--force", "replaces an existing file")
  .action((asked) => print(writeIndex(asked)));

type Target = { what: Subject; format: Format; output?: string; force?: true };

const outputOf = ({ what, format, output = `${what}.${format}` }: Omit<Target, "force">) => output;

async function writeIndex({ force, ...asked }: Target): Promise<string> {
  const output = outputOf(asked);
  const files = [output, ...(asked.format === "parquet" ? [] : [`${output}.meta.json`])];
  const taken = force ? undefined : files.find((file) => existsSync(file));
  if (taken !== undefined)
    throw new PreflightError(`${taken} exists already. Choose another --output, or add --force.`);
  const config = loadConfig();
  return withDatabase(config, async (run) => {
    const opened = await openExport(run, config, asked.what);
    const count = await writeExport(opened, asked);
    const blocks = Object.entries(opened.blocks).map(
      ([id, { block_number }]) => `${block_number} of chain ${id}`,
    );
    return `Wrote ${count} ${asked.what} to ${escapeControls(output)}, as of block ${blocks.join(", ")}.`;
  });
}

type Settings = Pick<Config, "chains" | "databaseSchema" | "namespace" | "plugins">;

/** The last indexed block of each chain. */
type Blocks = Readonly<Record<string, { block_number: number; timestamp: string }>>;

/** What an export gives: `rows` have to be read to their end before the database is closed. */
export type Export = { blocks: Blocks; rows: AsyncIterable<FileRow>; source: ReturnType<typeof sourceOf> };

/** Opens a snapshot of the index and reads it row by row. Throws a PreflightError if the index is not complete. */
export async function openExport(run: Statement, config: Settings, what: Subject): Promise<Export> {
  await beginSnapshot(run, config);
  const { rows } = await run("SELECT value ->> 'is_ready' AS ready FROM _ponder_meta WHERE key = 'app'");
  if (rows[0]?.["ready"] !== "1")
    throw new PreflightError(
      `The index in schema ${quoted(config.databaseSchema)} is not complete yet. Wait until its backfill has ended.`,
    );
  const heads = await readHeads(run, config);
  const indexed = indexedNamespaces(namespaces[config.namespace], config.plugins);
  const source = sourceOf(what, indexed);
  const times = `{${indexed.map(({ chainId }) => heads.get(chainId)?.timestamp ?? 0).join(",")}}`;
  const blocks = Object.fromEntries(
    [...heads].map(([id, { number, timestamp }]) => [
      id,
      { block_number: number, timestamp: String(timestamp) },
    ]),
  );
  async function* all() {
    for (const statement of source.statements)
      for await (const found of rowsOf(run, statement, times)) yield source.rowOf(found);
    await run("COMMIT");
  }
  return { blocks, rows: all(), source };
}

const rowsAtOnce = 2_000;

async function* rowsOf(run: Statement, statement: string, times: string) {
  // Some kinds of events do not depend on the time.
  const values = statement.includes("$1") ? [times] : [];
  await run(`DECLARE exported NO SCROLL CURSOR FOR ${statement}`, values);
  for (;;) {
    const { rows } = await run(`FETCH ${rowsAtOnce} FROM exported`);
    for (const row of rows) yield row["found"];
    if (rows.length < rowsAtOnce) break;
  }
  await run("CLOSE exported");
}

/** Writes an export to its file, which appears when it is complete. Returns the number of rows. */
export async function writeExport(
  { blocks, rows, source }: Export,
  { what, format, ...target }: Omit<Target, "force">,
): Promise<number> {
  const output = outputOf({ what, format, ...target });
  let count = 0;
  async function* counted() {
    for await (const row of rows) {
      count += 1;
      yield row;
    }
  }
  const part = `${output}.part`;
  const metadata = { what, blocks: JSON.stringify(blocks) };
  try {
    await writeFile(part, format, { columns: source.columns, rows: counted(), metadata });
    if (format !== "parquet")
      await writeText(`${output}.meta.json`, `${JSON.stringify({ what, rows: count, blocks }, null, 2)}\n`);
    await rename(part, output);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
  return count;
}

await runProgram(exportProgram, import.meta.url);
