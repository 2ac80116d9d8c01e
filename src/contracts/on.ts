import { ponder } from "ponder:registry";

/** Registers an indexing function for `<source>:<Event>`. */
export type On = typeof ponder.on;

/** Tells whether the configuration has a contract entry. */
export type IsSource = (source: string) => boolean;

/** Ponder's `on`, which refuses sources that the configuration lacks, without those. */
export function onSources(isSource: IsSource): On {
  return (name, handler) => {
    if (isSource(name.slice(0, name.indexOf(":")))) ponder.on(name, handler);
  };
}
