import type { Hex } from "viem";
import type { Log } from "../log/json-log.ts";
import { Refusal } from "../log/refusal.ts";
import type { LabelSetFacts, LabelSetPin } from "./label-set.ts";

/** A source of labels, pinned to one label set id and version, so that its results never change. */
export type LabelSource = {
  /**
   * Label of a canonical labelhash (`0x` and 64 lower-case digits), checked against it; undefined if the label set
   * lacks it. A promise only if the caller has to wait.
   */
  heal(labelhash: Hex): string | undefined | Promise<string | undefined>;
  /** Fetches labels that are healed soon, in lists; over HTTP only. Never rejects: `heal` fetches what is missing. */
  expect?(labelhashes: readonly Hex[]): Promise<void>;
  /** Facts of the source. Over HTTP they are the last known ones while the service is unavailable. */
  describe(): Promise<LabelSourceFacts>;
  close(): void | Promise<void>;
};

/** Facts of a label source. */
export type LabelSourceFacts = LabelSetFacts & {
  /** Version of the software that serves the labels. */
  version: string;
  /** Schema version of the label database; a positive integer. */
  schemaVersion: number;
};

export type LabelSourceOptions = LabelSetPin & {
  /** `http(s)://…` of a label service, or `file:/…` of a label database. */
  url: string;
  log: Log;
  /** Ends all waiting for an unavailable service. */
  signal?: AbortSignal;
};

/**
 * Counters of this process's label sources, for metrics. They only rise, except `waiting`: the heals that an outage
 * delays now.
 */
export const labelCounters = { healed: 0, unknown: 0, cacheHits: 0, retries: 0, outages: 0, waiting: 0 };

/** Counts the outcome of a heal, and returns it. */
export function countHeal(label: string | undefined): string | undefined {
  if (label === undefined) labelCounters.unknown++;
  else labelCounters.healed++;
  return label;
}

/**
 * The URL without user name, password and query, for logs and messages.
 * @example withoutSecrets("https://me:secret@labels.example/v?key=1") // "https://labels.example/v"
 */
export function withoutSecrets(text: string): string {
  const url = new URL(text);
  url.username = "";
  url.password = "";
  url.search = "";
  return url.href;
}

/** The label source is misconfigured, or its file is not a label database. Waiting does not help. */
export class LabelSourceError extends Refusal {
  override name = "LabelSourceError";
}
