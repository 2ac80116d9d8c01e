import { once } from "node:events";
import { setFlagsFromString } from "node:v8";
import { createJsonLog } from "../../src/log/json-log.ts";
import { createLabelsServer } from "../http/server.ts";
import { createLiveDatabase } from "../store/live-database.ts";

// Interval of checks whether the file was replaced, and time for requests after SIGTERM.
const [checkIntervalMs, graceMs] = [1000, 5000];

type Serving = { database: string; port: number; host?: string | undefined; logRequests: boolean };

type Surroundings = {
  stdout: { write(text: string): unknown };
  signals: Pick<NodeJS.EventEmitter, "on" | "once" | "off">;
};

/** Serves the label database over HTTP until SIGTERM or SIGINT. */
export async function serve(
  { database: path, port, host, logRequests }: Serving,
  { stdout, signals }: Surroundings,
): Promise<void> {
  const now = () => new Date();
  const log = createJsonLog(stdout, now);
  const database = createLiveDatabase(path, log);
  const server = createLabelsServer({ database, log, now, logsRequests: logRequests });

  // Requests create short-lived garbage only: a larger semi-space would just enlarge the process.
  setFlagsFromString("--semi-space-growth-factor=1");
  const ended = new Promise<string>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"]) signals.once(signal, () => resolve(signal));
  });
  server.listen({ port, ...(host === undefined ? {} : { host }) });
  await once(server, "listening").catch((error: Error) => {
    throw new Error(`Port ${port} cannot be used: ${error.message}.`);
  });
  log("info", "listening", { host: host ?? "all interfaces", port });

  const reload = () => database.reload({ isForced: true });
  signals.on("SIGHUP", reload);
  database.reload({ isForced: false });
  const checking = setInterval(() => database.reload({ isForced: false }), checkIntervalMs);

  log("info", "ending", { signal: await ended });
  clearInterval(checking);
  signals.off("SIGHUP", reload);
  const closed = once(server, "close");
  server.close();
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(timer);
  database.close();
}
