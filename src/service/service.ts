import type { startWebhooks } from "../feed/webhooks/deliver.ts";
import type { buildIndexes } from "../operations/indexes.ts";
import type { keepCoverage } from "../operations/label-coverage.ts";
import type { Core } from "./core.ts";
import type { openWatchedStatus } from "./watched-status.ts";

/** What jobs tell each other and the pages. */
export type Running = {
  isHealing: boolean;
  /** Names that handlers healed, by node, until the feed has them. */
  healed: Map<string, string | null | undefined>;
  indexBuild?: ReturnType<typeof buildIndexes>;
  coverage?: ReturnType<typeof keepCoverage>;
  webhooks?: ReturnType<typeof startWebhooks>;
};

/** A process: its parts, its status, and what its jobs have in common. */
export type Service = Core & ReturnType<typeof openWatchedStatus> & { running: Running };
