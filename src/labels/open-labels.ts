import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { escapeControls } from "../log/json-log.ts";
import { openHttpSource } from "./http-source.ts";
import { openFileSource } from "./label-file.ts";
import { pinMismatch } from "./label-set.ts";
import {
  type LabelSource,
  LabelSourceError,
  type LabelSourceFacts,
  type LabelSourceOptions,
  withoutSecrets,
} from "./source.ts";

// Where labels of labelhashes come from: the label file or the label service. What is stored in place of a label is
// decided in src/indexing/scope.ts. The service itself is in labels-service.

/**
 * Opens the label source, and checks that it has the pinned label set. Waits for an unavailable service until `signal`
 * is aborted. Throws a `LabelSourceError` for another or too old label set, and for a file that is not a label
 * database.
 * @example (await openLabels({ url: "file:./data/labels.sqlite", labelSetId: "subgraph", labelSetVersion: 0, log })).heal("0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0") // "eth"
 */
export async function openLabels(options: LabelSourceOptions): Promise<LabelSource> {
  const source = await openUnchecked(options);
  const problem = describeMismatch(options, await source.describe());
  if (problem === undefined) return source;
  await source.close();
  throw new LabelSourceError(problem);
}

function openUnchecked(options: LabelSourceOptions): LabelSource | Promise<LabelSource> {
  const url = new URL(options.url);
  if (url.protocol !== "file:") return openHttpSource(url, options);
  const path = parsePath(url);
  if (existsSync(path)) return openFileSource(path, options.labelSetVersion);
  const command = formatFetchCommand({ ...options, labelSetVersion: 0 });
  throw new LabelSourceError(`There is no label database ${JSON.stringify(path)}. Create it: ${command}`);
}

/** The command that adds a version of a label set to the database at `url`, or to that of the service there. */
export function formatFetchCommand({
  labelSetId,
  labelSetVersion,
  url,
}: Pick<LabelSourceOptions, "labelSetId" | "labelSetVersion" | "url">): string {
  const command = `npm run labels -- fetch ${labelSetId} ${labelSetVersion}`;
  const path = url.startsWith("file:") ? fileURLToPath(url) : undefined;
  if (path === undefined || path === resolve("data/labels.sqlite")) return command;
  return `${command} --database ${JSON.stringify(path)}`;
}

function parsePath(url: URL): string {
  try {
    return fileURLToPath(url);
  } catch (error) {
    const reason = (error as Error).message;
    throw new LabelSourceError(`"${url.href}" is not the path of a file: ${reason}.`, { cause: error });
  }
}

function describeMismatch(pin: LabelSourceOptions, facts: LabelSourceFacts): string | undefined {
  const mismatch = pinMismatch(pin, facts);
  if (mismatch === undefined) return undefined;
  const [{ labelSetId, labelSetVersion }, source] = [pin, withoutSecrets(pin.url)];
  if (mismatch === "id") {
    const held = escapeControls(facts.labelSetId.slice(0, 50));
    return (
      `Label set "${labelSetId}" is configured (LABEL_SET_ID), but ${source} holds "${held}". ` +
      `Set LABEL_SET_ID=${held}, or ingest label set "${labelSetId}".`
    );
  }
  const held = facts.highestLabelSetVersion;
  return (
    `Version ${labelSetVersion} of label set "${labelSetId}" is configured (LABEL_SET_VERSION), but ${source} holds only ` +
    `versions up to ${held}. Set LABEL_SET_VERSION=${held}, or add version ${held + 1}: ` +
    formatFetchCommand({ ...pin, labelSetVersion: held + 1 })
  );
}
