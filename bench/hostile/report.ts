import type { Reply } from "./attack.ts";
import type { Measured, Watch } from "./measure.ts";
import type { Seen } from "./watch.ts";

/** The figures of one attack as lines to print. */
export function describeAttack(measured: Measured): string {
  const { attack, replies, seconds, memory, log, calls, ended } = measured;
  const { before, worst, after } = memory;
  const normal = (watch: Watch) => sum(seriesOf(watch, "client").map(({ perSecond }) => perSecond));
  const ratio = normal(measured.during) / normal(measured.without);
  const lines = [
    `${attack.name} (${attack.threat}): ${attack.what}`,
    `  responses    ${describeReplies(replies)}; ${seconds.toFixed(1)} s in all${ended > 0 ? `; THE PROCESS ENDED (${ended})` : ""}${measured.isRelieved ? "; ENDED BY THE BENCH, the machine had no memory left" : ""}`,
    ...namesOf(measured.during).map((name) => describeWatched(name, measured)),
    `  clients      ${normal(measured.during).toFixed(0)}/s beside ${normal(measured.without).toFixed(0)}/s without (${ratio.toFixed(2)}), ${normal(measured.after).toFixed(0)}/s after`,
    `  memory       RSS ${whole(before.rss)} -> ${whole(worst.rss)} -> ${whole(after.rss)} MB; Postgres backends ${whole(before.postgres)} -> ${whole(worst.postgres)} -> ${whole(after.postgres)} MB`,
    `  index        ${before.lag.toFixed(0)} s behind before, ${worst.lag.toFixed(0)} s at worst, ${after.lag.toFixed(0)} s after; eth_call ${calls.during} during, ${calls.after} in the 10 s after`,
    `  log          ${(log.bytes / 1e6).toFixed(2)} MB, ${log.errors} errors, ${log.controls} lines with raw control characters or forged`,
    ...histogram(measured),
  ];
  return lines.join("\n");
}

/** One line of the table, for a Markdown file. */
export function tableRow(measured: Measured): string {
  const { attack, replies, memory, ended, log } = measured;
  const { before, worst, after } = memory;
  const cell = (name: string) => {
    const found = summaryOf(measured, name);
    return found === undefined
      ? "-"
      : `${milliseconds(found.p99)} / ${milliseconds(found.worst)}${found.failures === "" ? "" : ` (${found.failures})`}`;
  };
  const perSecond = (watch: Watch) => sum(seriesOf(watch, "client").map((one) => one.perSecond)).toFixed(0);
  const cells = [
    `${attack.name} (${attack.threat})`,
    `${describeReplies(replies)}${ended > 0 ? "; **process ended**" : ""}${measured.isRelieved ? " **by the bench: no memory left**" : ""}`,
    cell("/health"),
    cell("/amirealtime"),
    cell("query"),
    `${whole(before.rss)} / ${whole(worst.rss)} / ${whole(after.rss)}`,
    `${whole(before.postgres)} / ${whole(worst.postgres)}`,
    `${worst.lag.toFixed(0)}`,
    `${perSecond(measured.without)} / ${perSecond(measured.during)} / ${perSecond(measured.after)}`,
    `${(log.bytes / 1e6).toFixed(1)}`,
  ];
  return `| ${cells.join(" | ")} |`;
}

/** Head of the table of `tableRow`. */
export const tableHead = [
  "| Attack | Responses (slowest) | /health p99 / worst | /amirealtime p99 / worst | small query p99 / worst | RSS MB before / worst / 10 s after | Postgres MB before / worst | Lag s, worst | Clients/s without / during / after | Log MB |",
  "|---|---|---|---|---|---|---|---|---|---|",
].join("\n");

/** Responses by status, with the slowest of each and the largest body. */
function describeReplies(replies: readonly Reply[]): string {
  if (replies.length === 0) return "none: broken off";
  const byStatus = Map.groupBy(replies, ({ status }) => status);
  return [...byStatus]
    .map(([status, some]) => {
      const bytes = Math.max(...some.map((one) => one.bytes));
      const slowest = Math.max(...some.map(({ ms }) => ms));
      return `${some.length} x ${status} in ${(slowest / 1000).toFixed(1)} s${bytes > 1e6 ? ` (${whole(bytes / 1e6)} MB)` : ""}`;
    })
    .join(", ");
}

function describeWatched(name: string, measured: Measured): string {
  const without = summary(measured.without[name]);
  const found = summaryOf(measured, name);
  if (found === undefined) return `  ${name.padEnd(12)} not watched`;
  return `  ${name.padEnd(12)} p99 ${milliseconds(found.p99)}, worst ${milliseconds(found.worst)} (without: ${milliseconds(without?.p99 ?? 0)}, ${milliseconds(without?.worst ?? 0)})${found.failures === "" ? "" : `; not 200: ${found.failures}`}`;
}

// The time after an attack counts: its aftermath affects other clients too.
function summaryOf({ during, after }: Pick<Measured, "during" | "after">, name: string) {
  const parts = [during[name], after[name]].filter((part) => part !== undefined);
  if (parts.length === 0) return undefined;
  const statuses: Record<string, number> = {};
  for (const part of parts)
    for (const [status, count] of Object.entries(part.statuses)) {
      statuses[status] = (statuses[status] ?? 0) + count;
    }
  return summary({ latencies: parts.flatMap(({ latencies }) => latencies), statuses, perSecond: 0 });
}

function summary(seen: Seen | undefined) {
  if (seen === undefined) return undefined;
  const sorted = Float64Array.from(seen.latencies).sort();
  const failures = Object.entries(seen.statuses).filter(([status]) => status !== "200");
  return {
    p99: sorted[Math.floor((sorted.length - 1) * 0.99)] ?? 0,
    worst: sorted.at(-1) ?? 0,
    failures: failures.map(([status, count]) => `${count} x ${status}`).join(", "),
  };
}

const bounds = [5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, Number.POSITIVE_INFINITY];

/** How many requests of each watched path were answered within the bounds. */
function histogram({ during, after }: Pick<Measured, "during" | "after">): string[] {
  const head = bounds.map((bound) => (Number.isFinite(bound) ? milliseconds(bound) : "more").padStart(7));
  const rows = namesOf(during).map((name) => {
    const latencies = [...(during[name]?.latencies ?? []), ...(after[name]?.latencies ?? [])];
    let left = latencies.length;
    const counts = bounds.map((bound) => {
      const above = latencies.filter((one) => one > bound).length;
      const within = left - above;
      left = above;
      return String(within === 0 ? "." : within).padStart(7);
    });
    return `  ${name.padEnd(12)} ${counts.join("")}`;
  });
  return [`  ${"up to".padEnd(12)} ${head.join("")}`, ...rows];
}

const namesOf = (watch: Watch) => Object.keys(watch).filter((name) => !name.startsWith("client"));
const seriesOf = (watch: Watch, prefix: string) =>
  Object.entries(watch).flatMap(([name, seen]) => (name.startsWith(prefix) ? [seen] : []));
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const whole = (value: number) => Math.round(value).toLocaleString("en-US");
const milliseconds = (value: number) =>
  value < 1_000
    ? `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ms`
    : `${(value / 1_000).toFixed(1)} s`;

/** p99, worst, other statuses than 200 and a histogram of each watched path. */
export function describeWatch(watch: Watch): string[] {
  const clients = sum(seriesOf(watch, "client").map(({ perSecond }) => perSecond));
  const rows = namesOf(watch).map((name) => {
    const found = summary(watch[name]);
    return `  ${name.padEnd(12)} p99 ${milliseconds(found?.p99 ?? 0)}, worst ${milliseconds(found?.worst ?? 0)} ${found?.failures}`;
  });
  return [...rows, `  clients      ${clients.toFixed(0)}/s`, ...histogram({ during: watch, after: {} })];
}
