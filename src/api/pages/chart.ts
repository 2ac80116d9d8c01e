import { html } from "hono/html";
import { formatId } from "./components.ts";
import type { Html } from "./frame.ts";

// Charts as SVG made by the service: bars that grow from zero. Each bar has its words as a tooltip, which the script
// shows in the caption; the table below a chart says the same.

/** A bar: what it is of, its height, and its words. `isRunning`: a period that has not ended. */
export type Bar = { title: string; value: number; words: string; isRunning?: boolean };

const [width, height] = [600, 160];

/** The largest number of one digit, or 2.5, times a power of ten that no value exceeds by much: the end of a scale. */
function findScaleEnd(largest: number): number {
  if (largest <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(largest));
  return ([1, 2, 2.5, 5, 10].find((step) => step * power >= largest) ?? 10) * power;
}

const fixed = (value: number) => Number(value.toFixed(2));

/** A chart of bars, whose first and last are named below. `format`: values as text. */
export function barChart(label: string, bars: readonly Bar[], format: (value: number) => string): Html {
  const end = findScaleEnd(Math.max(0, ...bars.map(({ value }) => value)));
  const step = width / Math.max(1, bars.length);
  const hatch = `hatch-${formatId(label)}`;
  const drawn = bars.map(({ value, words, isRunning }, at) => {
    const high = value > 0 ? Math.max(2, (value / end) * height) : 0;
    const fill = isRunning ? html` fill="url(#${hatch})"` : html` class="bar"`;
    return html`<g data-words="${words}"><rect class="hit" x="${fixed(at * step)}" width="${fixed(step)}" height="${height}"><title>${words}</title></rect><rect${fill} x="${fixed((at + 0.12) * step)}" width="${fixed(step * 0.76)}" y="${fixed(height - high)}" height="${fixed(high)}"/></g>`;
  });
  const lines = [0.5, height / 2, height - 0.5].map((y) => html`<line x2="${width}" y1="${y}" y2="${y}"/>`);
  return html`<figure class="chart"><figcaption><span>${format(end)}</span><output></output></figcaption>
<svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="${label}"><defs><pattern id="${hatch}" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="bar" width="3" height="6"/></pattern></defs>${lines}${drawn}</svg>
<p><span>${bars[0]?.title ?? ""}</span><span>${bars.at(-1)?.title ?? ""}</span></p></figure>`;
}

/** A line without scales, of how a figure went, as `barChart` has it in large. */
export function sparkline(values: readonly number[]): Html {
  const most = Math.max(1, ...values);
  const step = 120 / Math.max(1, values.length - 1);
  const points = values.map((value, at) => `${fixed(at * step)},${fixed(30 - (value / most) * 28)}`);
  return html`<svg class="spark" viewBox="0 0 120 32" preserveAspectRatio="none" aria-hidden="true"><polyline points="${points.join(" ")}"/></svg>`;
}
