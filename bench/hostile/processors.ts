import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

// Shares of the processors while all groups want one. Service and database have those of compose.yaml and deploy/systemd; attackers,
// who have machines of their own elsewhere, get what is left; those who measure go first, or they would measure their own wait.
const shares = { observers: 65_536, service: 4_096, database: 1_024, attackers: 64 } as const;

/** Who runs on this machine during a measurement. */
export type Group = keyof typeof shares;

/** The control groups of this machine under which this process runs (version 1, writable); undefined where there are none. */
function controlGroups(): string | undefined {
  const line = readFileSync("/proc/self/cgroup", "utf8")
    .split("\n")
    .map((one) => one.split(":"))
    .find(([, controllers]) => controllers?.split(",").includes("cpu"));
  const folder = join("/sys/fs/cgroup/cpu", line?.[2] ?? "");
  return line !== undefined && existsSync(join(folder, "cpu.shares")) ? folder : undefined;
}

/**
 * Divides the processors among groups of processes, as containers and units of systemd divide them. `put` moves a process, whose
 * later children follow it. Where the machine has no control groups, each session gets as much as another.
 */
export function shareProcessors() {
  const parent = controlGroups();
  const folderOf = (group: Group) => join(parent ?? "", `bench-${process.pid}-${group}`);
  const groups = Object.keys(shares) as Group[];
  if (parent !== undefined)
    for (const group of groups) {
      mkdirSync(folderOf(group));
      writeFileSync(join(folderOf(group), "cpu.shares"), `${shares[group]}`);
    }
  const put = (pid: number | undefined, group: Group) => {
    if (parent !== undefined && pid !== undefined)
      writeFileSync(join(folderOf(group), "cgroup.procs"), `${pid}`);
  };
  put(process.pid, "observers");
  return {
    isDivided: parent !== undefined,
    put,
    /** Starts processes in a group, all that they start first included. */
    async startIn<T>(group: Group, start: () => Promise<T>): Promise<T> {
      put(process.pid, group);
      try {
        return await start();
      } finally {
        put(process.pid, "observers");
      }
    },
    close() {
      if (parent === undefined) return;
      writeFileSync(join(parent, "cgroup.procs"), `${process.pid}`);
      for (const group of groups) rmdirSync(folderOf(group));
    },
  };
}

/** Moves processes into groups. */
export type Processors = Pick<ReturnType<typeof shareProcessors>, "put">;
