import type { Registry } from "prom-client";
import { addGauge } from "../../ponder/gauge.ts";
import type { HookState } from "./positions.ts";

/**
 * A hook, for metrics and the status page. Counts are of this process: messages delivered, attempts failed. `isHeld`:
 * it delivers them.
 */
export type HookStatus = Pick<HookState, "fault" | "paused"> & {
  name: string;
  isHeld: boolean;
  lagSeconds: number;
  delivered: number;
  failed: number;
};

const metrics: readonly (readonly [name: string, help: string, read: (hook: HookStatus) => number])[] = [
  ["nsindex_webhooks_delivered", "Messages that hooks received", ({ delivered }) => delivered],
  ["nsindex_webhooks_failed", "Attempts to deliver that failed", ({ failed }) => failed],
  ["nsindex_webhooks_lag_seconds", "For how long messages have waited for a hook", (hook) => hook.lagSeconds],
  ["nsindex_webhooks_paused", "1 if a hook is paused", ({ paused }) => (paused === undefined ? 0 : 1)],
];

/** Adds the metrics of webhooks to a registry. */
export function addWebhookMetrics(registry: Registry, status: () => readonly HookStatus[]): void {
  for (const [name, help, read] of metrics)
    addGauge(registry, { name, help, labelNames: ["hook"] }, (gauge) => {
      gauge.reset();
      for (const hook of status()) if (hook.isHeld) gauge.set({ hook: hook.name }, read(hook));
    });
}
