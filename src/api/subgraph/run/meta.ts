import type { SelectionSetNode } from "graphql";
import type { BlockConstraint, BlockHashes, Head } from "../request/head.ts";
import { collectFields, type Selected, type SelectionContext } from "../request/selection.ts";
import { QueryError } from "../schema/errors.ts";

type MetaSource = {
  head: Head | undefined;
  deployment: string;
  hashes: (head: Head) => Promise<BlockHashes | undefined>;
};

const fields: { [type: string]: ReadonlySet<string> } = {
  _Meta_: new Set(["__typename", "block", "deployment", "hasIndexingErrors"]),
  _Block_: new Set(["__typename", "hash", "number", "timestamp", "parentHash"]),
};

/**
 * JSON text of `_meta`. Before the first block the number is 0 and the rest null, so that clients that read
 * `block.number` see an index far behind instead of breaking.
 */
export async function metaJson(
  context: SelectionContext,
  { nodes }: Selected,
  constraint: BlockConstraint,
  source: MetaSource,
): Promise<string | undefined> {
  const asked = select(context, "_Meta_", nodes);
  if (asked === undefined) return undefined;
  const parts: string[] = [];
  for (const selected of asked) {
    const value = await metaField(context, selected, constraint, source);
    if (value !== undefined) parts.push(`"${selected.key}":${value}`);
  }
  return `{${parts.join(",")}}`;
}

async function metaField(
  context: SelectionContext,
  selected: Selected,
  constraint: BlockConstraint,
  source: MetaSource,
): Promise<string | undefined> {
  if (selected.name === "__typename") return '"_Meta_"';
  if (selected.name === "deployment") return JSON.stringify(source.deployment);
  if (selected.name === "hasIndexingErrors") return "false";
  const asked = select(context, "_Block_", selected.nodes);
  if (asked === undefined) return undefined;
  // subgraph: who asks for a block by its number gets no hash.
  const wantsHash =
    constraint.kind !== "number" && asked.some(({ name }) => name === "hash" || name === "parentHash");
  const hashes = wantsHash && source.head !== undefined ? await source.hashes(source.head) : undefined;
  const values: { [name: string]: string | number | undefined } = {
    __typename: "_Block_",
    number: source.head?.number ?? 0,
    timestamp: source.head?.timestamp,
    hash: hashes?.hash,
    parentHash: hashes?.parentHash,
  };
  return `{${asked.map(({ key, name }) => `"${key}":${JSON.stringify(values[name] ?? null)}`).join(",")}}`;
}

function select(context: SelectionContext, type: string, nodes: Selected["nodes"]): Selected[] | undefined {
  const sets: SelectionSetNode[] = nodes.flatMap((node) => node.selectionSet ?? []);
  if (sets.length === 0) return undefined;
  const asked = collectFields(context, type, type, sets);
  for (const { name, nodes: places } of asked) {
    if (!fields[type]?.has(name))
      throw new QueryError(`Type \`${type}\` has no field \`${name}\``, { node: places[0] });
  }
  return asked;
}
