import { basenames } from "./basenames.ts";
import { ens } from "./ens.ts";
import { lineanames } from "./lineanames.ts";
import { threedns } from "./threedns.ts";

/** Every deployment, the root chain's first. For one log, handlers run in this order. */
export const deployments = [ens, basenames, lineanames, threedns] as const;
