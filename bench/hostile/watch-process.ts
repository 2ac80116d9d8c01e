// Watches services from a process of its own, which no attack and no figure of the bench holds up. Takes the list of what to
// watch first, then "read" for what was seen since the last time.
import { type Seen, type Watched, watch } from "./watch.ts";

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
