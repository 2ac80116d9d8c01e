import { statSync } from "node:fs";
import { type LabelFile, openLabelFile } from "../../src/labels/label-file.ts";
import type { Log } from "../../src/log/json-log.ts";

/** The label database at a path where the file may be replaced at any time. */
export type LiveDatabase = {
  /** The attached database; undefined while there is none. Do not keep it across an await. */
  current(): LabelFile | undefined;
  /** As `current`, but kept open until `release` is called, whatever happens at the path. */
  borrow(): { file: LabelFile; release: () => void } | undefined;
  /** Attaches the file at the path if it has changed; always, if `isForced`. */
  reload(options: { isForced: boolean }): void;
  /** How often a database was attached, and how often that failed. */
  counts: { attached: number; failed: number };
  close(): void;
};

/** Opens nothing before the first `reload`. A file that cannot be used never replaces one that can. */
export function createLiveDatabase(path: string, log: Log): LiveDatabase {
  const counts = { attached: 0, failed: 0 };
  let attached: { file: LabelFile; borrowers: number; isRetired: boolean } | undefined;
  let lastSeen: string | undefined = "not looked yet";

  const retire = () => {
    if (attached === undefined) return;
    attached.isRetired = true;
    if (attached.borrowers === 0) attached.file.close();
    attached = undefined;
  };

  return {
    counts,
    current: () => attached?.file,
    borrow: () => {
      const borrowed = attached;
      if (borrowed === undefined) return undefined;
      borrowed.borrowers++;
      return {
        file: borrowed.file,
        release: () => {
          borrowed.borrowers--;
          if (borrowed.isRetired && borrowed.borrowers === 0) borrowed.file.close();
        },
      };
    },
    reload: ({ isForced }) => {
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
        retire();
        attached = { file, borrowers: 0, isRetired: false };
        counts.attached++;
        log("info", "label database attached", { path, ...file.facts });
      } catch (error) {
        counts.failed++;
        log("error", "label database refused", { path, reason: (error as Error).message });
      }
    },
    close: retire,
  };
}

// Changes when another file is at the path; undefined if there is none.
function identityOf(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats && `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeMs}`;
}
