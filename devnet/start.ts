// The demo: `npm run demo [-- --subgraph | --ensv2] [--all]`. Needs no keys, no network, no database; PORT and
// LABELS_PORT choose the ports.
import { parseArgs } from "node:util";
import type { DemoWorld } from "./demo/chains.ts";
import { runDemo } from "./demo/demo.ts";
import { WaitError } from "./wait.ts";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    if (!stop.signal.aborted) console.log("\nStopping the demo …");
    stop.abort();
  });
}

// cli/with-node.mjs was killed.
process.on("disconnect", () => stop.abort());
process.channel?.unref();

const port = (name: string, usual: number): number => {
  const text = process.env[name] ?? "";
  if (text === "") return usual;
  const number = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > 65_535)
    throw new WaitError(`${name} must be a port between 1 and 65535, not "${text}".`);
  return number;
};

const asked = (): { world: DemoWorld; isAll: boolean } => {
  try {
    const flag = { type: "boolean", default: false } as const;
    const options = { subgraph: flag, ensv2: flag, all: flag };
    const { subgraph, ensv2, all: isAll } = parseArgs({ options }).values;
    if (!(subgraph && ensv2)) return { world: subgraph ? "subgraph" : ensv2 ? "ensv2" : "everything", isAll };
  } catch {
    // An option that there is not.
  }
  throw new WaitError("usage: npm run demo [-- --subgraph | --ensv2] [--all]");
};

try {
  await runDemo({
    ...asked(),
    port: port("PORT", 42_069),
    labelsPort: port("LABELS_PORT", 3223),
    environment: process.env,
    write: (line) => console.log(line),
    signal: stop.signal,
  });
} catch (error) {
  const isExpected = error instanceof WaitError;
  console.error(isExpected ? error.message : error);
  process.exitCode = 1;
}
