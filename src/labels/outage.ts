import { labelCounters } from "./counters.ts";
import type { LabelLog } from "./source.ts";

/** Says once that the label service cannot be used and once that it can again, whatever the number of retries. */
export function createOutageLog(url: string, log: LabelLog) {
  let since: number | undefined;
  return {
    noticed: (reason: string) => {
      if (since !== undefined) return;
      since = performance.now();
      labelCounters.outages++;
      log("warn", "label service cannot be used, waiting for it", { url, reason });
    },
    ended: () => {
      if (since === undefined) return;
      const seconds = Math.round((performance.now() - since) / 1000);
      since = undefined;
      log("info", "label service can be used again", { url, seconds });
    },
  };
}
