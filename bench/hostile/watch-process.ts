// Watches services from a separate process that neither attacks nor the bench itself delay. Takes the list of what to
// watch first, then "read" for the observations since the last time.
import { type Seen, type Watched, watch } from "./watch.ts";

process.on("disconnect", () => process.exit());

let watches = new Map<string, ReturnType<typeof watch>>();

process.on("message", (message: readonly Watched[] | "read") => {
  if (message === "read") {
    const seen: Record<string, Seen> = {};
    for (const [name, one] of watches) seen[name] = one.read();
    process.send?.(seen);
    return;
  }
  for (const one of watches.values()) void one.stop();
  watches = new Map(message.map((one) => [one.name, watch(one)]));
});
