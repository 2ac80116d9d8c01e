// The demo: `npm run demo [-- --subgraph]`. Needs no keys, no network, no database; PORT and LABELS_PORT choose the ports.
import { parseArgs } from "node:util";
import { DemoError, runDemo } from "./demo/demo.ts";
import { WaitError } from "./wait.ts";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    if (!stop.signal.aborted) console.log("\nStopping the demo …");
    stop.abort();
  });
}

// scripts/with-node.mjs was killed.
process.on("disconnect", () => stop.abort());
process.channel?.unref();

const port = (name: string, usual: number): number => {
  const text = process.env[name] ?? "";
  if (text === "") return usual;
  const number = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > 65_535)
    throw new DemoError(`${name} must be a port between 1 and 65535, not "${text}".`);
  return number;
};

const isSubgraph = (): boolean => {
  try {
    return parseArgs({ options: { subgraph: { type: "boolean", default: false } } }).values.subgraph;
  } catch {
    throw new DemoError(`usage: npm run demo [-- --subgraph]`);
  }
};

try {
  await runDemo({
    isSubgraph: isSubgraph(),
    port: port("PORT", 42_069),
    labelsPort: port("LABELS_PORT", 3223),
    environment: process.env,
    write: (line) => console.log(line),
    signal: stop.signal,
  });
} catch (error) {
  const isExpected = error instanceof DemoError || error instanceof WaitError;
  console.error(isExpected ? error.message : error);
  process.exitCode = 1;
}
