import { basenames } from "./basenames.ts";
import { ens } from "./ens.ts";
import { ensv2 } from "./ensv2.ts";
import { lineanames } from "./lineanames.ts";
import { threedns } from "./threedns.ts";

/** Every deployment, the root chain's first. Handlers of one log run in this order. */
export const deployments = [ens, basenames, lineanames, threedns, ensv2] as const;

/** The plugins whose names are in the table `domain`: those of the first generation. */
export const namePlugins: readonly string[] = deployments
  .map(({ plugin }) => plugin)
  .filter((plugin) => plugin !== ensv2.plugin);
