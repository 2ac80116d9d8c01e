import { existsSync } from "node:fs";
import { Option } from "@commander-js/extra-typings";
import { escapeControls } from "../src/log/json-log.ts";
import { type SqlView, sqlViews } from "../src/operations/sql-views.ts";
import type { Statement } from "../src/ponder/sql-client.ts";
import { createProgram, loadConfig, print, runProgram } from "./command.ts";
import { withDatabase } from "./database.ts";
import { type Format, formats, writeViewFile } from "./export/files.ts";
import { keepFolder, parseSince, type Since } from "./export/folder.ts";
import { openSnapshot, readView, type Settings } from "./export/snapshot.ts";
import { PreflightError } from "./refusal.ts";

/** `npm run export`. */
export const exportProgram = createProgram(
  "export",
  `Writes a view of docs/sql.md to a file, as it is at one block of each chain. The blocks are in the metadata of a Parquet file, and in <file>.meta.json beside the others. The file appears when it is complete. The indexer may keep running.`,
)
  .addOption(new Option("--what <view>", "which view").choices(sqlViews))
  .addOption(new Option("--format <format>", "of the file").choices(formats))
  .option("--output <file>", "default: <view>.<format>; with --since a folder, default: warehouse")
  .option("--force", "replaces an existing file")
  .addOption(
    new Option(
      "--since <when>",
      "keeps a folder of Parquet files of all views current: adds the events since the folder's last ones, and replaces the others. In an empty folder events begin with the first (last), or at a date or block of the root chain",
    )
      .argParser(parseSince)
      .conflicts(["what", "format", "force"]),
  )
  .action((asked) => print(writeIndex(asked)));

type Target = { what?: SqlView; format?: Format; output?: string; force?: true; since?: Since };

async function writeIndex({ since, what, format, ...options }: Target): Promise<string> {
  if (since !== undefined) {
    const config = loadConfig();
    const target = { since, folder: options.output ?? "warehouse" };
    return withDatabase(config, (run) => keepFolder(run, config, target));
  }
  if (what === undefined || format === undefined)
    throw new PreflightError("Add --what and --format, or --since for a folder that is kept current.");
  const { force, output = `${what}.${format}` } = options;
  const files = [output, ...(format === "parquet" ? [] : [`${output}.meta.json`])];
  const taken = force ? undefined : files.find((file) => existsSync(file));
  if (taken !== undefined)
    throw new PreflightError(`${taken} exists already. Choose another --output, or add --force.`);
  const config = loadConfig();
  return withDatabase(config, (run) => exportView(run, config, { what, format, output }));
}

/**
 * Writes a view to a file, as it is at one block of each chain, and returns what to tell the operator. Throws a
 * PreflightError if the index is not complete.
 */
export async function exportView(
  run: Statement,
  config: Settings,
  { what, format, output }: { what: SqlView; format: Format; output: string },
): Promise<string> {
  const blocks = await openSnapshot(run, config);
  const count = await writeViewFile(output, format, readView(run, config.databaseSchema, { what, blocks }));
  await run("COMMIT");
  const heads = Object.entries(blocks).map(([id, { block_number }]) => `${block_number} of chain ${id}`);
  return `Wrote ${count} ${what} to ${escapeControls(output)}, as of block ${heads.join(", ")}.`;
}

await runProgram(exportProgram, import.meta.url);
