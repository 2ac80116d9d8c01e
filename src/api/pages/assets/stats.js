// Draws the tables of figures. Without this script they can be read as they are.

const styles = getComputedStyle(document.documentElement);
const colorOf = (name) => styles.getPropertyValue(name).trim();
const colors = ["--link", "--busy", "--good", "--bad"];
const height = 220;
const ownUrl = document.currentScript.src;

const numberOf = (cell) => {
  const value = Number(cell?.textContent.replaceAll(",", ""));
  return Number.isFinite(value) ? value : null;
};

/** Dates and columns of numbers of a table. A table of several kinds has a line for each, of its last column. */
function readTable(table) {
  const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  const rows = [...table.tBodies[0].rows].map(({ cells }) => [...cells]);
  const times = [...new Set(rows.map(([date]) => Date.parse(date.textContent) / 1_000))];
  const lines = new Map();
  for (const [date, ...cells] of rows) {
    const isOfKind = heads[1] === "Kind";
    const values = isOfKind
      ? [[cells[0].textContent, cells.at(-1)]]
      : cells.map((cell, at) => [heads[at + 1], cell]);
    for (const [label, cell] of values) {
      const line = lines.get(label) ?? Array(times.length).fill(null);
      line[times.indexOf(Date.parse(date.textContent) / 1_000)] = numberOf(cell);
      lines.set(label, line);
    }
  }
  return { times, lines };
}

/** The library of the charts, with its style. */
function library() {
  if (document.querySelector("link[href$='uPlot.min.css']") === null) {
    const style = document.createElement("link");
    style.rel = "stylesheet";
    style.href = new URL("uPlot.min.css", ownUrl).href;
    document.head.append(style);
  }
  return import(new URL("uPlot.esm.js", ownUrl).href);
}

async function draw(place) {
  const table = place.querySelector("details");
  const { times, lines } = readTable(table.querySelector("table"));
  // One point is no line.
  const isLine = times.length >= 2;
  const { default: uPlot } = isLine ? await library() : {};
  place.classList.add("drawn");
  table.open = !isLine;
  if (!isLine) return;
  const axis = {
    stroke: colorOf("--quiet"),
    grid: { stroke: colorOf("--line") },
    ticks: { stroke: colorOf("--line") },
  };
  const series = [...lines.keys()].map((label, at) => ({
    label,
    stroke: colorOf(colors[at % colors.length]),
    width: 2,
  }));
  const options = {
    width: place.clientWidth,
    height,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), "Etc/UTC"),
    scales: { y: { range: (_, least, most) => [Math.min(0, least ?? 0), (most || 1) * 1.05] } },
    series: [{ value: "{YYYY}-{MM}-{DD}" }, ...series],
    axes: [axis, { ...axis, size: 80 }],
  };
  const chart = new uPlot(options, [times, ...lines.values()], (self, begin) => {
    place.prepend(self.root);
    begin();
  });
  new ResizeObserver(() => chart.setSize({ width: place.clientWidth, height })).observe(place);
}

// A page first shows its text: the library of the charts takes a tenth of a second.
const nearby = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      nearby.unobserve(target);
      draw(target);
    }
  },
  { rootMargin: "400px" },
);
for (const place of document.querySelectorAll(".chart")) nearby.observe(place);
