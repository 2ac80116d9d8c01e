import type { Attack } from "./attack.ts";
import { connectionAttacks } from "./attacks/connections.ts";
import { labelAttacks } from "./attacks/labels.ts";
import { lookupAttacks } from "./attacks/lookup.ts";
import { subgraphAttacks } from "./attacks/subgraph.ts";

/** All attacks. */
export const attacks: Attack[] = [
  ...connectionAttacks,
  ...subgraphAttacks,
  ...labelAttacks,
  ...lookupAttacks,
];
