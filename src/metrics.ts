import { Counter } from "prom-client";
import { labelCounters } from "./labels/source.ts";
import { addGauge } from "./ponder/gauge.ts";
import { metricsRegistry } from "./ponder/process.ts";

const anomalies = "nsindex_anomalies_total";

/** Adds the metrics to Ponder's registry, if there is one. Counts are per process; replayed events count again. */
export function openMetrics(): { countAnomaly(anomaly: string): void } {
  const registry = metricsRegistry();
  if (registry === undefined) return { countAnomaly: () => {} };
  // A hot reload loads this module again over the same registry.
  registry.removeSingleMetric(anomalies);
  const counter = new Counter({
    name: anomalies,
    help: "Events that contradict the index or name unknown nodes; skipped or repaired",
    labelNames: ["anomaly"],
    registers: [registry],
  });
  for (const [name, counted, help] of labelMetrics)
    addGauge(registry, { name, help }, (gauge) => gauge.set(labelCounters[counted]));
  return { countAnomaly: (anomaly) => counter.inc({ anomaly }) };
}

const labelMetrics = [
  ["nsindex_labels_healed", "healed", "Labels that the label source knew"],
  ["nsindex_labels_unknown", "unknown", "Labels that the label source did not know"],
  ["nsindex_labels_cache_hits", "cacheHits", "Heals answered from memory"],
  ["nsindex_labels_retries", "retries", "Requests to the label service that were sent again"],
  ["nsindex_labels_outages", "outages", "Times the label service could not be used"],
  ["nsindex_labels_waiting", "waiting", "Heals that an outage holds up now"],
] as const;
