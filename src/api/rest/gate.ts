import { isBackfilled } from "../status/snapshot.ts";
import type { CurrentStatus, StatusSource } from "../status/status-source.ts";
import type { Refusal } from "./errors.ts";

/** A plugin, or several of which one is enough. */
type PluginNeed = string | readonly string[];

/** What must hold before an endpoint can respond. */
export type Needs<C, I> = {
  /** Plugins that must be active. */
  plugins?: readonly PluginNeed[] | ((context: C) => readonly PluginNeed[]);
  /** `known`: there is an indexing status; `complete`: the backfill is over as well. */
  index?: I;
  /** Whether bad input is reported first. */
  isCheckedAfterInput?: boolean;
};

/** What the gate decides from. */
export type GateContext = { plugins: readonly string[]; status: Pick<StatusSource, "current"> };

/** The gate before an endpoint: why it cannot respond under the current status, or undefined if it can. */
export function createGate<C>(
  { plugins = [], index }: Needs<C, string | undefined>,
  context: C & GateContext,
): (current: CurrentStatus | undefined) => Refusal | undefined {
  const needed = typeof plugins === "function" ? plugins(context) : plugins;
  const inactive = refusalOfPlugins(needed, context.plugins);
  return (current) => {
    if (inactive !== undefined || index === undefined) return inactive;
    if (current === undefined) return statusUnknown;
    return index === "complete" ? refusalOfStatus(current) : undefined;
  };
}

function refusalOfPlugins(needed: readonly PluginNeed[], active: readonly string[]): Refusal | undefined {
  const alternatives = needed
    .map((need) => (typeof need === "string" ? [need] : need))
    .filter((plugins) => plugins.length > 0);
  const missing = alternatives.filter((plugins) => !plugins.some((plugin) => active.includes(plugin)));
  if (missing.length === 0) return undefined;
  const list = (needs: readonly (readonly string[])[]) => needs.map((need) => need.join(" or ")).join(", ");
  return {
    reason: "plugin",
    message: "A plugin that this endpoint needs is not active.",
    details: `Needed plugins: ${list(alternatives)}. Not active: ${list(missing)}.`,
  };
}

const statusUnknown: Refusal = {
  reason: "status",
  message: "The indexing status is not available.",
  details: "This endpoint responds once the indexing status is known.",
};

function refusalOfStatus({ snapshot }: CurrentStatus): Refusal | undefined {
  if (isBackfilled(snapshot)) return undefined;
  return {
    reason: "backfill",
    message: "The index is not complete yet.",
    details: `The omnichain status must be omnichain-following or omnichain-completed; it is ${snapshot.omnichainSnapshot.omnichainStatus}.`,
  };
}
