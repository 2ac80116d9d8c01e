import type { Attack } from "./attack.ts";
import { connectionAttacks } from "./attacks/connections.ts";
import { labelAttacks } from "./attacks/labels.ts";
import { lookupAttacks } from "./attacks/lookup.ts";
import { resolutionAttacks } from "./attacks/resolution.ts";
import { subgraphAttacks } from "./attacks/subgraph.ts";

/** The whole table, in the order of the threats. */
export const attacks: Attack[] = [
  ...connectionAttacks,
  ...resolutionAttacks,
  ...subgraphAttacks,
  ...labelAttacks,
  ...lookupAttacks,
].toSorted((a, b) => Number(a.threat.slice(1)) - Number(b.threat.slice(1)));
