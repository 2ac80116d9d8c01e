import { html } from "hono/html";
import type { Requests } from "./facts.ts";
import { facts, type Html, section, table } from "./layout.ts";
import { bytes, count, decimal, hash } from "./text.ts";

type OddEvents = {
  kind: string;
  count: number;
  examples: readonly { chainId: number; transactionHash: string; logIndex: number }[];
};

/** Events that rules skipped or repaired, by kind, with the places of the last. */
export function oddEvents(kinds: readonly OddEvents[]): Html {
  if (kinds.length === 0) return section("Odd events", html`<p class="note">None since the start.</p>`);
  const rows = kinds.map(({ kind, count: times, examples }) => {
    const places = examples.map(
      (one) => html`<div>chain ${one.chainId}, log ${one.logIndex} of ${hash(one.transactionHash)}</div>`,
    );
    return [html`<code>${kind}</code>`, html`${count(times)}`, html`${places}`];
  });
  const caption = "Events that were skipped or repaired, since the start";
  return section("Odd events", table({ caption, head: ["Kind", "Events", "Last ones"], numeric: [1], rows }));
}

/** Requests to the chains' nodes; undefined in a reader, which sends none. */
export function requests(list: readonly Requests[] | undefined): Html {
  const none = list === undefined ? "The indexing process counts them; this one serves its index." : "None.";
  if (!list?.length) return section("RPC requests", html`<p class="note">${none}</p>`);
  const rows = list.map(({ chain, method, ...counts }) =>
    [chain, method, count(counts.answered), count(counts.failed), count(counts.units)].map(
      (text) => html`${text}`,
    ),
  );
  const units = count(list.reduce((sum, one) => sum + one.units, 0));
  const caption = `Requests to the nodes since the start: ${units} compute units of Alchemy`;
  const head = ["Chain", "Method", "Answered", "Failed", "Compute units"];
  return section("RPC requests", table({ caption, head, numeric: [2, 3, 4], rows }));
}

const terms: Readonly<Record<string, string>> = {
  labelSetId: "Label set",
  labelSetVersion: "Version of the set",
  highestLabelSetVersion: "Highest version of the source",
  recordsCount: "Labels of the source",
  version: "Version of the program",
  schemaVersion: "Layout of the label database",
  hitPercent: "Healed, in percent",
  cached: "Answered from memory",
  schemaBytes: "Size of the schema",
  cacheBytes: "Size of the RPC cache",
  databaseBytes: "Size of the whole database",
  rpcUrls: "RPC URLs",
};

const termOf = (key: string) => terms[key] ?? `${key.charAt(0).toUpperCase()}${key.slice(1)}`;

/** Named values, those that are known. Numbers whose name ends in `Bytes` are sizes. */
export function values(title: string, record: Readonly<Record<string, unknown>>): Html {
  const known = Object.entries(record).filter(([, value]) => value !== undefined && value !== null);
  const text = (key: string, value: unknown) => {
    if (typeof value === "number") return key.endsWith("Bytes") ? bytes(value) : decimal(value);
    return Array.isArray(value) ? value.join(", ") : String(value);
  };
  return section(title, facts(known.map(([key, value]) => [termOf(key), text(key, value)])));
}
