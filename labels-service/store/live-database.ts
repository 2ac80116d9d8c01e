import { statSync } from "node:fs";
import { type LabelFile, openLabelFile } from "../../src/labels/label-file.ts";
import type { Log } from "../../src/log/json-log.ts";

/** The label database at a path where the file may be replaced at any time. */
export type LiveDatabase = ReturnType<typeof createLiveDatabase>;

/** Longer than a request and its response may take. */
const closedAfterMs = 120_000;

/** Opens nothing before the first `reload`. A file that cannot be used never replaces one that can. */
export function createLiveDatabase(path: string, log: Log) {
  const counts = { attached: 0, failed: 0 };
  let attached: LabelFile | undefined;
  let lastSeen: string | undefined = "not looked yet";

  return {
    /** How often a database was attached, and how often that failed. */
    counts,
    /** The attached database; undefined while there is none. It stays open for two minutes after another has replaced it. */
    current: (): LabelFile | undefined => attached,
    /** Attaches the file at the path if it has changed; always, if `isForced`. */
    reload: ({ isForced }: { isForced: boolean }): void => {
      const seen = identityOf(path);
      if (seen === lastSeen && !isForced) return;
      if (seen === undefined && attached === undefined)
        log("info", "waiting for the label database", { path });
      lastSeen = seen;
      if (seen === undefined) {
        if (attached !== undefined) log("warn", "label database is gone, serving the old one on", { path });
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

// Changes when another file is at the path; undefined if there is none.
function identityOf(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats && `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeMs}`;
}
