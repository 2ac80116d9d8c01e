import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { LiveDatabase } from "../store/live-database.ts";
import type { Outcome } from "./answer.ts";

/** Metrics of the label service. */
export type Metrics = ReturnType<typeof createMetrics>;

const latencyBuckets = [0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.01, 0.1, 1];

/** Creates Prometheus metrics of the label service: its requests, its database and the process. */
export function createMetrics(database: LiveDatabase) {
  const register = new Registry();
  const registers = [register];
  collectDefaultMetrics({ register });

  const requests = new Counter({
    name: "labels_requests_total",
    help: "Requests by route and outcome.",
    labelNames: ["route", "outcome"],
    registers,
  });
  const heals = new Histogram({
    name: "labels_heal_duration_seconds",
    help: "Time from the arrival of a heal request to the start of its answer.",
    labelNames: ["route"],
    buckets: latencyBuckets,
    registers,
  });

  const gauges: [name: string, help: string, read: () => number][] = [
    ["labels_ready", "1 when a label database is attached.", () => (database.current() ? 1 : 0)],
    ["labels_records", "Healable labels in the database.", () => database.current()?.facts.recordsCount ?? 0],
    ["labels_database_attachments", "Databases attached since the start.", () => database.counts.attached],
    ["labels_database_refusals", "Databases refused since the start.", () => database.counts.failed],
  ];
  for (const [name, help, read] of gauges)
    new Gauge({
      ...{ name, help, registers },
      collect() {
        this.set(read());
      },
    });
  new Gauge({
    name: "labels_highest_label_set_version",
    help: "Highest label set version in the database.",
    labelNames: ["label_set_id"],
    registers,
    collect() {
      this.reset();
      const facts = database.current()?.facts;
      if (facts !== undefined) this.set({ label_set_id: facts.labelSetId }, facts.highestLabelSetVersion);
    },
  });

  return {
    /** Counts a request and, for heals, the seconds from its arrival to its response. */
    observe: (route: string, outcome: Outcome, seconds: number): void => {
      requests.inc({ route, outcome });
      if (route.startsWith("heal")) heals.observe({ route }, seconds);
    },
    contentType: register.contentType,
    text: () => register.metrics(),
  };
}
