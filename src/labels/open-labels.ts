import { fileURLToPath } from "node:url";
import { openFileSource } from "./file-source.ts";
import { openHttpSource } from "./http-source.ts";
import { isLabelSetId } from "./label-set.ts";
import {
  type LabelSource,
  LabelSourceError,
  type LabelSourceFacts,
  type LabelSourceOptions,
  withoutSecrets,
} from "./source.ts";

/**
 * Opens the label source and checks that it holds the pinned label set. Waits without end for a service that
 * cannot be reached. Throws `LabelSourceError` for a bad URL or another or too old label set, and
 * `LabelFileError` for a file that is no label database.
 */
export async function openLabels(options: LabelSourceOptions): Promise<LabelSource> {
  if (!isLabelSetId(options.labelSetId)) {
    throw new LabelSourceError(
      `"${options.labelSetId}" is no label set id: it has 1 to 50 characters, only a to z and "-".`,
    );
  }
  const source = await openUnchecked(options);
  const facts = await source.describe();
  const fault = pinFault(options, facts);
  if (fault === undefined) return source;
  await source.close();
  throw new LabelSourceError(fault);
}

function openUnchecked(options: LabelSourceOptions): LabelSource | Promise<LabelSource> {
  if (!URL.canParse(options.url)) {
    throw new LabelSourceError(`"${options.url}" is no URL; expected http://…, https://… or file:/….`);
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
    throw new LabelSourceError(`"${url.href}" names no file: ${(error as Error).message}.`, { cause: error });
  }
}

function pinFault({ url, labelSetId, labelSetVersion }: LabelSourceOptions, facts: LabelSourceFacts) {
  if (facts.labelSetId !== labelSetId) {
    return `Label set "${labelSetId}" is configured, but ${withoutSecrets(url)} holds "${facts.labelSetId}".`;
  }
  if (facts.highestLabelSetVersion < labelSetVersion) {
    return `Version ${labelSetVersion} of label set "${labelSetId}" is configured, but ${withoutSecrets(url)} holds only versions up to ${facts.highestLabelSetVersion}.`;
  }
  return undefined;
}
