import { fileURLToPath } from "node:url";
import { escapeControls } from "../log/json-log.ts";
import { openHttpSource } from "./http-source.ts";
import { openFileSource } from "./label-file.ts";
import { isLabelSetId, labelSetIdRule, pinMismatch } from "./label-set.ts";
import {
  type LabelSource,
  LabelSourceError,
  type LabelSourceFacts,
  type LabelSourceOptions,
  withoutSecrets,
} from "./source.ts";

/**
 * Opens the label source and checks that it holds the pinned label set. Waits without limit for a service that cannot be
 * reached. Throws `LabelSourceError` for a bad URL or another or too old label set, and `LabelFileError` for a file that
 * is not a label database.
 * @example (await openLabels({ url: "file:./data/labels.sqlite", labelSetId: "subgraph", labelSetVersion: 0, log })).heal("0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0") // "eth"
 */
export async function openLabels(options: LabelSourceOptions): Promise<LabelSource> {
  if (!isLabelSetId(options.labelSetId)) {
    throw new LabelSourceError(
      `"${escapeControls(options.labelSetId)}" is not a label set id: it has ${labelSetIdRule}.`,
    );
  }
  const source = await openUnchecked(options);
  const problem = mismatchMessage(options, await source.describe());
  if (problem === undefined) return source;
  await source.close();
  throw new LabelSourceError(problem);
}

function openUnchecked(options: LabelSourceOptions): LabelSource | Promise<LabelSource> {
  if (!URL.canParse(options.url)) {
    throw new LabelSourceError(
      `"${escapeControls(options.url)}" is not a URL; expected http://…, https://… or file:/….`,
    );
  }
  const url = new URL(options.url);
  if (url.protocol === "file:") return openFileSource(pathOf(url), options.labelSetVersion);
  if (url.protocol === "http:" || url.protocol === "https:") return openHttpSource(url, options);
  throw new LabelSourceError(
    `Labels cannot be read from "${url.protocol}"; expected http:, https: or file:.`,
  );
}

function pathOf(url: URL): string {
  try {
    return fileURLToPath(url);
  } catch (error) {
    throw new LabelSourceError(`"${url.href}" is not the path of a file: ${(error as Error).message}.`, {
      cause: error,
    });
  }
}

function mismatchMessage(pin: LabelSourceOptions, facts: LabelSourceFacts): string | undefined {
  const mismatch = pinMismatch(pin, facts);
  if (mismatch === undefined) return undefined;
  const [{ labelSetId, labelSetVersion }, source] = [pin, withoutSecrets(pin.url)];
  return mismatch === "id"
    ? `Label set "${labelSetId}" is configured, but ${source} holds "${escapeControls(facts.labelSetId.slice(0, 50))}".`
    : `Version ${labelSetVersion} of label set "${labelSetId}" is configured, but ${source} holds only versions up to ${facts.highestLabelSetVersion}.`;
}
