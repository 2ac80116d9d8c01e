import { accessSync, constants, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

const inMemory = "/dev/shm";
const neededBytes = 1024 ** 3;

/**
 * Where the demo keeps its data: TMPDIR if it is set, else in memory where the system has a file system for that with room. A
 * backfill into the embedded database opens and closes files thousands of times.
 */
export function temporaryFolder({ TMPDIR }: Readonly<Record<string, string | undefined>>): string {
  if (TMPDIR) return TMPDIR;
  try {
    accessSync(inMemory, constants.W_OK);
    const { bavail, bsize } = statfsSync(inMemory);
    if (bavail * bsize > neededBytes) return inMemory;
  } catch {
    // Not on this system.
  }
  return tmpdir();
}
