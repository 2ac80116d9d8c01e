import { statSync } from "node:fs";
import { type LabelFile, openLabelFile } from "../../src/labels/label-file.ts";
import type { Log } from "../../src/log/json-log.ts";

// The label database while it is served. This folder creates, opens and replaces database files;
// src/labels/label-file.ts looks labels up in them.

/** A label database whose file may be replaced at any time. */
export type LiveDatabase = ReturnType<typeof createLiveDatabase>;

/** Longer than a request and its response may take. */
const closedAfterMs = 120_000;

/**
 * Creates a live database, which opens nothing before the first `reload`. An unusable file never replaces a usable one.
 */
export function createLiveDatabase(path: string, log: Log) {
  const counts = { attached: 0, failed: 0 };
  let attached: LabelFile | undefined;
  let lastSeen: string | undefined = "not looked yet";

  return {
    counts,
    /** The attached database, if there is one. It stays open for two minutes after its replacement. */
    current: (): LabelFile | undefined => attached,
    /** Attaches the file at the path if it has changed, or if `isForced`. */
    reload: ({ isForced }: { isForced: boolean }): void => {
      const seen = readIdentity(path);
      if (seen === lastSeen && !isForced) return;
      if (seen === undefined && attached === undefined)
        log("info", "waiting for the label database", { path });
      lastSeen = seen;
      if (seen === undefined) {
        if (attached !== undefined)
          log("warn", "label database is missing, still serving the previous one", { path });
        return;
      }
      try {
        const file = openLabelFile(path);
        if (attached !== undefined) setTimeout(attached.close, closedAfterMs).unref();
        attached = file;
        counts.attached++;
        log("info", "label database attached", { path, ...file.facts });
      } catch (error) {
        counts.failed++;
        log("error", "label database refused", { path, reason: (error as Error).message });
      }
    },
    close: (): void => {
      attached?.close();
      attached = undefined;
    },
  };
}

// Changes with the file at the path; undefined if there is none.
function readIdentity(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats && `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeMs}`;
}
