import type { Hex } from "viem";
import type { Log } from "../log/json-log.ts";
import type { LabelSetFacts, LabelSetPin } from "./label-set.ts";

/** Where labels come from, pinned to one label set id and version, so that its answers never change. */
export type LabelSource = {
  /**
   * The label whose keccak-256 is `labelhash` (checked here, so callers need not), or undefined when the label set lacks it.
   * Expects a canonical labelhash: `0x` and 64 lower-case digits. A promise only when the answer must be waited for.
   */
  heal(labelhash: Hex): string | undefined | Promise<string | undefined>;
  /**
   * Fetches labels that will be asked for soon, together; over HTTP only. Never rejects: what could not be fetched is asked for by
   * itself then.
   */
  expect?(labelhashes: readonly Hex[]): Promise<void>;
  /** Facts about the source; over HTTP the last known ones while the service cannot be reached. */
  describe(): Promise<LabelSourceFacts>;
  close(): void | Promise<void>;
};

/** A label source's description of itself. */
export type LabelSourceFacts = LabelSetFacts & {
  /** Version of the software that serves the labels. */
  version: string;
  /** Version of the label database's layout; a positive integer. */
  schemaVersion: number;
};

export type LabelSourceOptions = LabelSetPin & {
  /** `http(s)://…` of a label service, or `file:/…` of a label database. */
  url: string;
  log: Log;
  /** Ends every wait for a service that cannot be reached. */
  signal?: AbortSignal;
};

/**
 * What the label sources of this process have done so far, for a metrics endpoint to show.
 * Counters only rise; `waiting` is the number of heals that an outage holds up right now.
 */
export const labelCounters = { healed: 0, unknown: 0, cacheHits: 0, retries: 0, outages: 0, waiting: 0 };

/**
 * Counts the outcome of a heal and returns it.
 * @example counted("eth") // "eth"
 */
export function counted(label: string | undefined): string | undefined {
  if (label === undefined) labelCounters.unknown++;
  else labelCounters.healed++;
  return label;
}

/**
 * The URL without user name, password and query, fit for logs and messages.
 * @example withoutSecrets("https://me:secret@labels.example/v?key=1") // "https://labels.example/v"
 */
export function withoutSecrets(text: string): string {
  const url = new URL(text);
  url.username = "";
  url.password = "";
  url.search = "";
  return url.href;
}

/** The label source is configured wrongly, or its file is no label database; waiting does not help. */
export class LabelSourceError extends Error {
  override name = "LabelSourceError";
}
