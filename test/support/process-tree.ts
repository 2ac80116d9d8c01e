import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { promisify } from "node:util";

/** Process ids of the direct children of a process: from /proc where there is one, else from `ps`. */
export async function childrenOf(parent: number | undefined): Promise<number[]> {
  const listed = `/proc/${parent}/task/${parent}/children`;
  if (existsSync(listed)) return readFileSync(listed, "utf8").split(" ").filter(Boolean).map(Number);
  const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "pid=,ppid="]);
  return stdout
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([pid, ppid]) => (pid !== undefined && ppid === parent ? [pid] : []));
}
