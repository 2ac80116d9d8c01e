// Prices of queries to /subgraph beside the limits, and how long they hold the process: parsed and compiled, without a database.
//
//   node scripts/with-node.mjs bench/subgraph-prices.ts [--queries file.json]
//
// Prints for every limit what the largest known client query costs (test/fixtures/client-queries.json, or another file of that
// form), then the processor time that requests at the limits and beyond take, and the longest that others wait for their turn.
import { readFileSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { parseArgs } from "node:util";
import { getIntrospectionQuery } from "graphql";
import { defaultSubgraphLimits } from "../src/config/limits.ts";
import { compileQuery, type PricedQuery, priceOf } from "../test/support/subgraph/price.ts";

const fixture = new URL("../test/fixtures/client-queries.json", import.meta.url);
const { values } = parseArgs({ options: { queries: { type: "string" } } });

type Known = PricedQuery & { name: string };
const known: Known[] = [
  ...(JSON.parse(readFileSync(values.queries ?? fixture, "utf8")) as Known[]),
  { name: "introspection of code generators", query: getIntrospectionQuery() },
];

const times = (count: number, part: (place: number) => string) =>
  Array.from({ length: count }, (_, i) => part(i)).join(" ");
const conditions = (count: number) => ({ or: Array.from({ length: count }, (_, i) => ({ name: `n${i}` })) });
const ids = (count: number) =>
  Array.from({ length: count }, (_, i) => `0x${i.toString(16).padStart(64, "0")}`);
const filtered = (count: number, where: string) =>
  `query($w: X) { ${times(count, (i) => `a${i}: domains(first: 1, where: ${where}) { id }`)} }`;
let inner = "name";
for (let level = 0; level < 5; level++) inner = `interfaces{possibleTypes{${inner}}}`;

/** Requests at the limits, and the attacks that they are there for. */
const requests: Known[] = [
  {
    name: "at the limit: tokens",
    query: `query($v: X) { domains(first: 1, where: { or: [${times(9_990, () => "{ id: $v }")}] }) { id } }`,
  },
  { name: "at the limit: fields", query: `{ domains(first: 1) { ${times(9_980, (i) => `f${i}: id`)} } }` },
  {
    name: "at the limit: fields of relations",
    query: `{ domains(first: 1) { ${times(3_300, (i) => `f${i}: parent { name createdAt }`)} } }`,
  },
  {
    name: "at the limit: lists of their own",
    query: `{ domains(first: 1) { ${times(2_400, (i) => `f${i}: subdomains(first: ${1 + (i % 1000)}) { id }`)} } }`,
  },
  {
    name: "at the limit: root fields",
    query: filtered(1_000, "{ name: $w, id_gt: $w }"),
    variables: { w: "a" },
  },
  {
    name: "at the limit: filter keys in a variable",
    query: "query($w: X) { domains(where: $w) { id } }",
    variables: { w: conditions(4_990) },
  },
  { name: "at the limit: values", query: filtered(1, "{ id_in: $w }"), variables: { w: ids(9_990) } },
  {
    name: "at the limit: one filter in 40 lists",
    query: `query($w: X) { ${times(40, (i) => `a${i}: domains(first: ${i + 1}, where: $w) { id }`)} }`,
    variables: { w: conditions(120) },
  },
  { name: "introspection of code generators", query: `${getIntrospectionQuery()} # not kept` },
  {
    name: "at the limit: introspection",
    query: `{ __schema { types { ${times(900, (i) => `a${i}: fields { name }`)} } } }`,
  },
  {
    name: "attack: 7,400 aliases in 1,000 rows",
    query: `{ domains(first: 1000) { ${times(7_400, (i) => `f${i}: id`)} } }`,
  },
  {
    name: "attack: 80 x 90 by a fragment",
    query: `{ registrations(first: 1000) { ${times(80, (i) => `r${i}: domain { ...F }`)} }
      } fragment F on Domain { ${times(90, (i) => `a${i}: id`)} }`,
  },
  { name: "attack: 1,000 x 9,000 keys", query: filtered(1_000, "$w"), variables: { w: conditions(9_000) } },
  { name: "attack: 1,000 x id_in", query: filtered(1_000, "{ id_in: $w }"), variables: { w: ids(10_000) } },
  {
    name: "attack: 1,000 x name_in",
    query: filtered(1_000, "{ name_in: $w }"),
    variables: { w: ids(10_000) },
  },
  { name: "attack: nested introspection", query: `{__schema{types{possibleTypes{${inner}}}}}` },
  {
    name: "attack: aliases in introspection",
    query: `{ __schema { types { ${times(1_300, (i) => `a${i}: fields { name }`)} } } }`,
  },
];

function show(cells: (string | number)[], widths: number[]): string {
  return cells.map((cell, place) => `${cell}`.padEnd(widths[place] ?? 0)).join("  ");
}

const largest = new Map<string, { price: number; name: string }>();
for (const query of known) {
  for (const [limit, price] of Object.entries(await priceOf(query))) {
    const before = largest.get(limit);
    if (before === undefined || price > before.price) largest.set(limit, { price, name: query.name });
  }
}
const columns = [16, 12, 12, 8, 0];
console.log(show(["limit", "default", "largest", "times", "of"], columns));
for (const [limit, { price, name }] of largest) {
  const most =
    limit === "rootFields" ? 1_000 : defaultSubgraphLimits[limit as keyof typeof defaultSubgraphLimits];
  console.log(show([limit, most, price, (most / price).toFixed(0), name], columns));
}

/** Milliseconds of processor time of one request, the longest that another task waits for its turn, and the words of a refusal. */
async function measure(query: Known) {
  const started = performance.now();
  const before = process.threadCpuUsage();
  let [longest, isRunning, last] = [0, true, started];
  const request = compileQuery(query).then(
    () => "",
    (error: Error) => error.message,
  );
  const done = request.finally(() => {
    isRunning = false;
  });
  while (isRunning) {
    await nextTurn();
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }
  const refusal = await done;
  const { user, system } = process.threadCpuUsage(before);
  return { took: (user + system) / 1000, longest, refusal };
}

const widths = [40, 10, 10, 10, 10, 0];
console.log(
  `\n${show(["ms of 9 tries", "cpu, first", "median", "wait, first", "median", "refused"], widths)}`,
);
for (const query of requests) {
  const tries: Awaited<ReturnType<typeof measure>>[] = [];
  for (let i = 0; i < 9; i++) tries.push(await measure(query));
  const median = (pick: (one: (typeof tries)[number]) => number) =>
    tries.map(pick).sort((a, b) => a - b)[4] ?? 0;
  const figures = [
    tries[0]?.took,
    median(({ took }) => took),
    tries[0]?.longest,
    median(({ longest }) => longest),
  ];
  console.log(
    show(
      [query.name, ...figures.map((ms) => (ms ?? 0).toFixed(1)), (tries[0]?.refusal ?? "").slice(0, 90)],
      widths,
    ),
  );
}
