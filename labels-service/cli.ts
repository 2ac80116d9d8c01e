import { existsSync } from "node:fs";
import { enableCompileCache } from "node:module";

// Otherwise compilation takes most of the time that `serve` needs to start.
enableCompileCache();
const { main } = await import("./main.ts");

if (existsSync(".env.local")) process.loadEnvFile(".env.local");
// cli/with-node.mjs was killed.
process.on("disconnect", () => process.kill(process.pid, "SIGTERM"));
process.channel?.unref();
process.exitCode = await main(process.argv.slice(2), {
  database: process.env["LABELS_DATABASE"] || "./data/labels.sqlite",
  port: process.env["LABELS_PORT"] || "3223",
  labelsServer: process.env["LABELS_SERVER_URL"] || "https://bucket.ensrainbow.io",
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  signals: process,
});
