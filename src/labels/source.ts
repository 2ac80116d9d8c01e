import type { Hex } from "viem";

/** Where labels come from, pinned to one label set id and version, so that its answers never change. */
export type LabelSource = {
  /** The label, or undefined when the label set has none. A promise only when the answer must be waited for. */
  heal(labelhash: Hex): string | undefined | Promise<string | undefined>;
  describe(): Promise<LabelSourceFacts>;
  close(): void | Promise<void>;
};

/** What `describe` tells; over HTTP the last known answer when the service cannot be reached. */
export type LabelSourceFacts = {
  labelSetId: string;
  highestLabelSetVersion: number;
  recordsCount: number;
  /** Version of the software that answers. */
  version: string;
  /** Version of the label database's layout; a positive integer. */
  schemaVersion: number;
};

/** Receives one line of log: what happened, and the facts. */
export type LabelLog = (level: "info" | "warn" | "error", message: string, fields: LogFields) => void;
type LogFields = Record<string, string | number>;

export type LabelSourceOptions = {
  /** `http(s)://…` of a label service, or `file:/…` of a label database. */
  url: string;
  labelSetId: string;
  labelSetVersion: number;
  log: LabelLog;
};

/** The URL without user name, password and query, fit for logs and messages. */
export function withoutSecrets(text: string): string {
  const url = new URL(text);
  url.username = "";
  url.password = "";
  url.search = "";
  return url.href;
}

/** The label source is configured wrongly; waiting does not help. */
export class LabelSourceError extends Error {
  override name = "LabelSourceError";
}
