import type { Config } from "../../src/config/environment.ts";
import { filterFaults } from "../../src/feed/webhooks/filters.ts";
import { about, type Finding } from "./finding.ts";

/** Checks the filters of WEBHOOKS_FILE, all in one finding. */
export async function examineWebhooks(config: Config): Promise<Finding[]> {
  const faults = filterFaults(config).join("; ");
  const found = `WEBHOOKS_FILE cannot be used: ${faults}`;
  return faults === "" ? [] : [about("webhooks").fail(found, "Correct it, see docs/webhooks.md.")];
}
