import { Gauge, type Registry } from "prom-client";

/** Adds a gauge to a registry, if there is one. `collect` sets it for each response of /metrics. */
export function addGauge<Label extends string = string>(
  registry: Registry | undefined,
  gauge: { name: string; help: string; labelNames?: Label[] },
  collect: (gauge: Gauge<Label>) => void,
): void {
  if (registry === undefined) return;
  // A hot reload loads modules again over the same registry, and a reader that serves another index adds its gauges
  // again.
  registry.removeSingleMetric(gauge.name);
  new Gauge({
    ...{ ...gauge, registers: [registry] },
    collect() {
      collect(this);
    },
  });
}
