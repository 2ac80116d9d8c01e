// Preloaded into the indexing process: when the launcher is gone, however it went, the process ends as on Ctrl-C.
// Without this a killed launcher would leave it behind, holding port and database.
process.on("disconnect", () => process.kill(process.pid, "SIGINT"));
