import { once } from "node:events";
import { setFlagsFromString } from "node:v8";
import type { Command } from "@commander-js/extra-typings";
import { createJsonLog } from "../../src/log/json-log.ts";
import { createLabelsServer } from "../http/server.ts";
import { createLiveDatabase } from "../store/live-database.ts";
import { type CommandContext, databaseCommand, wholeNumber } from "./command-line.ts";

// How often the file is checked for a replacement, and how long requests may still take after SIGTERM.
const [checkIntervalMs, graceMs] = [1000, 5000];

/** `serve`: the HTTP service over the label database, until SIGTERM or SIGINT. */
export const addServe = (program: Command, context: CommandContext) =>
  databaseCommand(program, "serve", context)
    .description("answer over HTTP; picks up a new database when the file is replaced")
    .option("--port <n>", "LABELS_PORT by default", wholeNumber({ min: 1, max: 65_535 }))
    .option("--host <address>", "such as 127.0.0.1; all interfaces by default")
    .option("--log-requests", "a line of log for each request", false)
    .action(async ({ port = Number(context.port), host, database: path, logRequests: logsRequests }) => {
      const now = () => new Date();
      const log = createJsonLog(context.stdout, now);
      const database = createLiveDatabase(path, log);
      const server = createLabelsServer({ database, log, now, logsRequests });

      // Requests produce short-lived garbage only: more room for it would just make the process larger.
      setFlagsFromString("--semi-space-growth-factor=1");
      const ended = endOf(context.signals);
      server.listen({ port, ...(host === undefined ? {} : { host }) });
      await once(server, "listening").catch((error: Error) => {
        throw new Error(`Port ${port} cannot be used: ${error.message}.`);
      });
      log("info", "listening", { host: host ?? "all interfaces", port });

      const reload = () => database.reload({ isForced: true });
      context.signals.on("SIGHUP", reload);
      database.reload({ isForced: false });
      const checking = setInterval(() => database.reload({ isForced: false }), checkIntervalMs);

      log("info", "ending", { signal: await ended });
      clearInterval(checking);
      context.signals.off("SIGHUP", reload);
      const closed = once(server, "close");
      server.close();
      const impatience = setTimeout(() => server.closeAllConnections(), graceMs);
      await closed;
      clearTimeout(impatience);
      database.close();
    });

function endOf(signals: CommandContext["signals"]): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) signals.once(signal, () => resolve(signal));
  });
}
