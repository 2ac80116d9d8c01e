import { Gauge, type Registry } from "prom-client";
import type { QueuedDatabase } from "./client.ts";

/** Adds to a registry how many statements wait for their turn: what readers are scaled by. */
export function addQueueMetric(registry: Registry, database: QueuedDatabase): void {
  const name = "nsindex_statements_waiting";
  // A hot reload loads this module again over the same registry.
  registry.removeSingleMetric(name);
  const collect = function (this: Gauge) {
    this.set(database.waiting());
  };
  new Gauge({ name, help: "Statements that wait in the queue", registers: [registry], collect });
}
