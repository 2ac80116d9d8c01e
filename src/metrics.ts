import { Counter, Gauge } from "prom-client";
import { labelCounters } from "./labels/source.ts";
import { metricsRegistry } from "./ponder/process.ts";

/** Metrics of the indexing functions, shown at Ponder's /metrics next to its own. */
export type IndexingMetrics = { countAnomaly(anomaly: string): void };

const anomalies = "nsindex_anomalies_total";

/**
 * Adds the metrics to Ponder's registry; without Ponder nothing is counted. Counts are of this process: events that
 * Ponder plays again after a reorganisation or a restart are counted again.
 */
export function openMetrics(): IndexingMetrics {
  const registry = metricsRegistry();
  if (registry === undefined) return { countAnomaly: () => {} };
  // A hot reload loads this module again over the same registry.
  for (const name of [anomalies, ...labelMetrics.map(({ name }) => name)]) registry.removeSingleMetric(name);
  const counter = new Counter({
    name: anomalies,
    help: "Events that contradict the index or name unknown nodes; skipped or repaired",
    labelNames: ["anomaly"],
    registers: [registry],
  });
  for (const { name, help, value } of labelMetrics) {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(value());
      },
    });
  }
  return { countAnomaly: (anomaly) => counter.inc({ anomaly }) };
}

const labelMetrics = [
  {
    name: "nsindex_labels_healed",
    help: "Labels that the label source knew",
    value: () => labelCounters.healed,
  },
  {
    name: "nsindex_labels_unknown",
    help: "Labels that the label source did not know",
    value: () => labelCounters.unknown,
  },
  {
    name: "nsindex_labels_cache_hits",
    help: "Heals answered from memory",
    value: () => labelCounters.cacheHits,
  },
  {
    name: "nsindex_labels_retries",
    help: "Requests to the label service that were sent again",
    value: () => labelCounters.retries,
  },
  {
    name: "nsindex_labels_outages",
    help: "Times the label service could not be used",
    value: () => labelCounters.outages,
  },
  {
    name: "nsindex_labels_waiting",
    help: "Heals that an outage holds up now",
    value: () => labelCounters.waiting,
  },
];
