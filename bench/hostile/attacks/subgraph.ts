import { type Attack, atOnce, inRounds, pause, query, times } from "../attack.ts";

// Small, legal documents that are expensive to execute.

const wide = `{ domains(first: 1000) { ${times(7_400, (i) => `f${i}: id`)} } }`;

// 80 objects with 90 fields each in every row: about 7,200 values a row from 2 kB.
const fragments = `{ registrations(first: 1000) { ${times(80, (i) => `r${i}: domain { ...F }`)} } }
  fragment F on Domain { ${times(90, (i) => `a${i}: id`)} }`;

const aliases = (filter: string) =>
  `query($w: ${filter}) { ${times(1000, (i) => `a${i}: domains(first: 1, where: $w) { id }`)} }`;
const inAliases = `query($v: [ID!]) { ${times(1000, (i) => `a${i}: domains(first: 1, where: { id_in: $v }) { id }`)} }`;

const conditions = { w: { or: Array.from({ length: 9_000 }, (_, i) => ({ id: i.toString(36) })) } };

// Substring searches over all names, different ones in each request.
const slow = (place: number) =>
  `{ domains(where: { or: [${times(900, (i) => `{ name_contains_nocase: "a${i}%b${place}%c" }`, ",")}] }) { id } }`;

export const subgraphAttacks: Attack[] = [
  {
    // 65 kB: 1,000 rows x 7,400 aliases of one field, three times.
    name: "wide-rows",
    seconds: 60,
    run: (target) => inRounds(target, 3, () => query(target, wide)),
  },
  {
    // 2 kB: 1,000 rows x 80 objects x 90 aliases by a fragment, twice.
    name: "fragments",
    seconds: 60,
    run: (target) => inRounds(target, 2, () => query(target, fragments)),
  },
  {
    // 1,000 aliases x one `where` variable of 9,000 conditions.
    name: "filter-9000",
    seconds: 60,
    run: (target) => query(target, aliases("Domain_filter"), conditions),
  },
  {
    // 1,000 aliases x one `id_in` of 10,000 values.
    name: "id-in",
    seconds: 60,
    run: (target) => {
      const v = Array.from({ length: 10_000 }, (_, i) => `0x${i.toString(16)}`);
      return query(target, inAliases, { v });
    },
  },
  {
    // 80 slow queries of one client at once, again as soon as they end.
    name: "slow-queries",
    seconds: 30,
    run: (target) =>
      inRounds(target, 3, async (round) => {
        await atOnce(80, (place) => query(target, slow(round * 80 + place)));
        await pause(target, 100);
      }),
  },
];
