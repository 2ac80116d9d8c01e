import { openCore } from "./core.ts";
import { startJobs } from "./jobs.ts";
import { prepareIndex } from "./prepare.ts";
import { guardRequests } from "./requests.ts";
import { openServing } from "./serve.ts";
import type { Service } from "./service.ts";
import { openWatchedStatus } from "./watched-status.ts";

// The process: what it prepares, follows, serves and does beside indexing. Ponder loads it, and mounts the app that it
// exports.

const core = openCore();
if (core.ponder.isIndexer) await prepareIndex(core);
const service: Service = {
  ...core,
  ...openWatchedStatus(core),
  running: { isHealing: false, healed: new Map() },
};
const serving = await openServing(service);
await startJobs({ ...service, serving });
guardRequests({ ...service, serving });

export default serving.app;
