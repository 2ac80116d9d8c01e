import { existsSync, rmSync, statSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { Command, CommanderError, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { labelDatabaseSchemaVersion, labelSetIdPattern, labelSetIdRule } from "../src/labels/label-set.ts";
import { countNoun, escapeControls, escapeControlsOfLines, formatSpan } from "../src/log/json-log.ts";
import { convert, exportVersion } from "./commands/export.ts";
import { fetchLabelSet, findLabelSet, productionLimits } from "./commands/fetch.ts";
import { serve } from "./commands/serve.ts";
import { validate } from "./commands/validate.ts";
import { labelSetVersions } from "./formats/ensrainbow.ts";
import { formatNames, formats } from "./formats/formats.ts";
import { type IngestOptions, type IngestReport, ingest, ingestFolder, lockFolder } from "./ingest/ingest.ts";
import { openInput } from "./ingest/read-input.ts";
import { readDatabase } from "./store/database.ts";

/** The process around a command. */
export type CommandContext = {
  database: string;
  port: string;
  /** Base URL of the label sets' server. */
  labelsServer: string;
  stdin: Readable & { isTTY?: boolean | undefined };
  stdout: { write(text: string | Uint8Array): unknown };
  stderr: { write(text: string): unknown };
  /** Emits SIGTERM, SIGINT and SIGHUP: the process itself. */
  signals: Pick<NodeJS.EventEmitter, "on" | "once" | "off">;
};

/**
 * Runs the command that the first argument names, and returns the exit code. An error is one line on standard error.
 */
export async function main(args: string[], context: CommandContext): Promise<number> {
  const program = new Command("npm run labels --")
    .description("The label healing service: labelhash to label.")
    .addHelpText("after", formatHelp())
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(escapeControlsOfLines(text)),
    });
  for (const add of [addFetch, addIngest, addServe, addStats, addValidate, addExport, addConvert, addPurge])
    add(program, context);
  try {
    await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    // Commander has written why the command line is wrong, or the help.
    if (error instanceof CommanderError) return error.exitCode;
    const message = error instanceof Error ? error.message : String(error);
    context.stderr.write(`${escapeControls(message)}\n`);
    return 1;
  }
}

function formatHelp(): string {
  const lines = formatNames.map((name) => {
    const { title, recognisedBy } = formats[name];
    return `  ${name.padEnd(10)}  ${title}: ${recognisedBy}`;
  });
  return `\nFormats, gzipped or not, and how they are recognised without --format:\n${lines.join("\n")}`;
}

const createDatabaseCommand = (program: Command, name: string, { database }: CommandContext) =>
  program.command(name).option("--database <path>", "LABELS_DATABASE by default", parsePath, database);

// SQLite opens a temporary database for an empty path.
function parsePath(text: string): string {
  if (text !== "") return text;
  throw new InvalidArgumentError("It is empty.");
}

const formatOption = () => new Option("--format <format>", "of the file").choices(formatNames);

const createNumberParser =
  ({ min, max }: { min: number; max: number }) =>
  (text: string): number => {
    const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };

const formatNumber = (value: number) => value.toLocaleString("en-US");

const addIngest = (program: Command, context: CommandContext) =>
  createDatabaseCommand(program, "ingest", context)
    .argument("<file|->", "the file, or standard input")
    .description("add a label set version to the database")
    .option("--label-set-id <id>", "the label set; .ensrainbow files name it")
    .option("--label-set-version <n>", "its version, likewise", createNumberParser(labelSetVersions))
    .addOption(formatOption())
    .option("--skip-invalid", "leaves invalid rows out, and lists them", false)
    .option(
      "--checkpoint-mb <n>",
      "how often it can resume",
      createNumberParser({ min: 1, max: 1_000_000 }),
      256,
    )
    .action((file, { database: databasePath, checkpointMb, skipInvalid, ...asked }) => {
      const task = {
        ...{ ...asked, databasePath, stderr: context.stderr },
        input: openInput(file, context.stdin),
        invalidAllowed: skipInvalid ? Number.POSITIVE_INFINITY : 0,
        checkpointBytes: checkpointMb * 1_000_000,
      };
      return ingestAndReport(task, context);
    });

async function ingestAndReport(task: Omit<IngestOptions, "now">, { stdout }: CommandContext): Promise<void> {
  const started = performance.now();
  const report = await ingest({ ...task, now: () => new Date() });
  stdout.write(ingestSummary(report, task.databasePath, (performance.now() - started) / 1000));
}

function ingestSummary(
  { format, facts, counts, added, rejectsPath }: IngestReport,
  path: string,
  seconds: number,
) {
  const rows = counts.accepted + counts.invalid + counts.ignored;
  const lines = [
    `Ingested version ${facts.highestLabelSetVersion} of "${facts.labelSetId}" from ${format}: ` +
      `${countNoun(rows, "row")} in ${formatSpan(seconds)} (${formatNumber(Math.round(rows / seconds))} rows/s).`,
    `${countNoun(added, "new label")}, ${formatNumber(counts.accepted - added)} known before` +
      `${counts.invalid > 0 ? `, ${countNoun(counts.invalid, "invalid row")}` : ""}` +
      `${counts.ignored > 0 ? `, ${countNoun(counts.ignored, "ignored row")}` : ""}.`,
    `${escapeControls(path)} holds ${countNoun(facts.recordsCount, "label")}.`,
  ];
  if (rejectsPath !== undefined) lines.push(`The invalid rows are listed in ${escapeControls(rejectsPath)}.`);
  if (formats[format].keepsCarriageReturns && counts.endingInCarriageReturn > 0)
    lines.push(
      `${formatNumber(counts.endingInCarriageReturn)} labels end in a carriage return: was this a Windows text file?`,
    );
  return `${lines.join("\n")}\n`;
}

const addFetch = (program: Command, context: CommandContext) =>
  createDatabaseCommand(program, "fetch", context)
    .argument("<id>", "the label set", parseLabelSetId)
    .argument("<version>", "its version", createNumberParser(labelSetVersions))
    .description("download a label set version and add it to the database; resumes where it was stopped")
    .action(async (labelSetId, labelSetVersion, { database: databasePath }) => {
      const { stdout, stderr } = context;
      const source = findLabelSet({ labelSetId, labelSetVersion }, parseServer(context.labelsServer));
      const task = await fetchLabelSet(source, { ...productionLimits, databasePath, stderr });
      if (task !== undefined) return ingestAndReport(task, context);
      const path = escapeControls(databasePath);
      stdout.write(`Version ${labelSetVersion} of "${labelSetId}" is already in ${path}.\n`);
    });

function parseLabelSetId(text: string): string {
  if (labelSetIdPattern.test(text)) return text;
  throw new InvalidArgumentError(`A label set id has ${labelSetIdRule}.`);
}

function parseServer(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.username + url.password + url.search + url.hash === "")
    return url.href.replace(/\/+$/, "");
  throw new Error("LABELS_SERVER_URL must be an http(s):// URL without credentials and query.");
}

const addServe = (program: Command, context: CommandContext) =>
  createDatabaseCommand(program, "serve", context)
    .description("serve labels over HTTP; picks up a new database when the file is replaced")
    .option("--port <n>", "LABELS_PORT by default", createNumberParser({ min: 1, max: 65_535 }))
    .option("--host <address>", "such as 127.0.0.1; all interfaces by default")
    .option("--log-requests", "a line of log for each request", false)
    .action(({ port = Number(context.port), ...asked }) => serve({ port, ...asked }, context));

const addStats = (program: Command, context: CommandContext) =>
  createDatabaseCommand(program, "stats", context)
    .description("show what the database holds")
    .action(({ database }) => {
      const lines = readDatabase(database, ({ facts, versions, collisions }) => {
        const { size } = statSync(database);
        return [
          ["database", escapeControls(database)],
          ["schema version", String(labelDatabaseSchemaVersion)],
          ["label set", facts.labelSetId],
          ["highest version", String(facts.highestLabelSetVersion)],
          ["labels", formatNumber(facts.recordsCount)],
          ["colliding keys", formatNumber(collisions().length)],
          ["size", `${formatNumber(size)} bytes`],
          ["bytes a label", facts.recordsCount === 0 ? "-" : (size / facts.recordsCount).toFixed(1)],
          ...versions.map(({ version, recordsCount, ingestedAt }) => [
            `version ${version}`,
            `${countNoun(recordsCount, "label")}, ingested ${escapeControls(ingestedAt)}`,
          ]),
        ];
      });
      context.stdout.write(lines.map(([name = "", value]) => `${name.padEnd(16)} ${value}\n`).join(""));
    });

const addValidate = (program: Command, context: CommandContext) =>
  createDatabaseCommand(program, "validate", context)
    .description("check every label and every count of the database")
    .action(({ database }) =>
      readDatabase(database, (reader) => {
        const { labels, faults, descriptions } = validate(reader, context.stderr);
        const checked = `${countNoun(labels, "label")} of "${reader.facts.labelSetId}"`;
        for (const description of descriptions) context.stderr.write(`${description}\n`);
        if (faults > 0) throw new Error(`${countNoun(faults, "fault")} in ${checked}.`);
        const highest = reader.facts.highestLabelSetVersion;
        context.stdout.write(`${checked}, versions 0 to ${highest}: no faults.\n`);
      }),
    );

const addExport = (program: Command, context: CommandContext) =>
  createDatabaseCommand(program, "export", context)
    .description("write one version (by default the highest) to an .ensrainbow file")
    .option("--label-set-version <n>", "the version", createNumberParser(labelSetVersions))
    .option("--output <file>", "<label set id>_<version>.ensrainbow by default", parsePath)
    .action(({ database, labelSetVersion, output }) =>
      readDatabase(database, (reader) => {
        const { labelSetId, highestLabelSetVersion: highest } = reader.facts;
        const version = labelSetVersion ?? highest;
        if (version > highest)
          throw new Error(`The database holds versions 0 to ${highest}, not ${version}.`);
        const target = output ?? `${labelSetId}_${version}.ensrainbow`;
        const records = exportVersion(reader, version, target, context.stderr);
        context.stdout.write(
          `Wrote ${countNoun(records, "label")} of version ${version} of "${labelSetId}" to ${escapeControls(target)}.\n`,
        );
      }),
    );

const addConvert = (program: Command, { stdin, stdout, stderr }: CommandContext) =>
  program
    .command("convert <file|->")
    .description("turn a CSV file into an .ensrainbow file: version 0, or the next version of a database")
    .requiredOption("--label-set-id <id>", "the label set")
    .option("--onto <database>", "the database that has the versions before", parsePath)
    .option("--output <file>", "<label set id>_<version>.ensrainbow by default", parsePath)
    .addOption(formatOption().default("csv" as const))
    .action(async (file, asked) => {
      const { added, repeated, version, target } = await convert(openInput(file, stdin), asked, stderr);
      stdout.write(
        `Wrote ${countNoun(added, "label")} of version ${version} of "${asked.labelSetId}" to ${escapeControls(target)}; ` +
          `repeated or known before: ${formatNumber(repeated)}.\n`,
      );
    });

const addPurge = (program: Command, context: CommandContext) =>
  createDatabaseCommand(program, "purge", context)
    .description("delete the database and the remains of unfinished ingests")
    .option("--yes", "without asking")
    .action(async ({ yes, database }) => {
      const folder = ingestFolder(database);
      const shown = escapeControls(database);
      const say = (line: string) => void context.stdout.write(`${line}\n`);
      if (!existsSync(database) && !existsSync(folder)) return say(`There is nothing at ${shown}.`);
      if (yes !== true && !(await isConfirmed(shown, context))) return say("Nothing was deleted.");
      // Throws during an ingest.
      if (existsSync(folder)) lockFolder(folder)();
      rmSync(database, { force: true });
      rmSync(folder, { recursive: true, force: true });
      say(`Deleted ${shown}.`);
    });

async function isConfirmed(shown: string, { stdin, stderr }: CommandContext): Promise<boolean> {
  if (stdin.isTTY !== true) throw new Error("Deleting needs --yes when nobody can be asked.");
  stderr.write(`Delete ${shown}? [y/N] `);
  for await (const line of createInterface({ input: stdin })) return /^y(es)?$/i.test(line.trim());
  return false;
}
