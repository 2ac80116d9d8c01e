// Preloaded into the indexing process: once the launcher has exited for any reason, the process stops as on Ctrl-C.
// Without this a killed launcher would leave it behind, holding port and database.
process.on("disconnect", () => process.kill(process.pid, "SIGINT"));
