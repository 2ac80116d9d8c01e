// Preloaded into the indexing process.
import { format } from "node:util";

// When the launcher is gone, however it went, the process ends as on Ctrl-C. Without this a killed launcher would leave it
// behind, holding port and database.
process.on("disconnect", () => process.kill(process.pid, "SIGINT"));

// Ponder logs with console.log. Each call becomes one line, a JSON string, so that the launcher knows where an entry ends
// whatever is written in it (scripts/log-lines.ts).
const { log } = console;
console.log = (...values) => log(JSON.stringify(format(...values)));
