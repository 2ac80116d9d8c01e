import type { Hex } from "viem";
import { encodedLabel } from "../ens/labels.ts";
import type { HealRows } from "../ponder/shared.ts";
import type { DomainRow } from "./domains.ts";
import type { Naming, Settings, StoredLabel } from "./scope.ts";

// A newer label set knows labels that were unknown when their events were handled. Healing turns a row into the row
// that an index with the newer set would have. It is a function of the row alone, so it fits stored rows, those in
// memory, and those that a reorganization restores.
//
// A name has `[labelhash]` wherever a lookup failed, and the original mapping builds a name once. So the label replaces
// it, also in names below. One event depends on a failed lookup: NameWrapped replaces the name of a domain without a
// label by the wrapper's, which may reveal labels above. A set that knows the label would have kept the name that was
// looked up: `unrevealedName` keeps that name.

/** The label of a labelhash that failed before, as stored; undefined if it is still unknown or unusable. */
export type FindLabel = (labelhash: Hex) => StoredLabel | undefined;

type NamedRow = Pick<DomainRow, "name" | "labelName" | "labelhash" | "unrevealedName">;
type LabelledRow = { id: Hex; labelName: string | null };

// A label of which the lookup failed: `[labelhash]`, or `{labelhash}` if its domain was then wrapped.
const unknown = /^(?:\[[0-9a-f]{64}\]|\{[0-9a-f]{64}\})$/;
const hashIn = (part: string): Hex | undefined => (unknown.test(part) ? `0x${part.slice(1, -1)}` : undefined);
const isWrapped = (part: string) => part.startsWith("{") && unknown.test(part);

/**
 * What a wrapper's name replaces: the name as looked up, `{labelhash}` first. Null if labels above are known, since
 * then both names are equal whether the label becomes known or not.
 */
export function unrevealedName({ name, unrevealedName: before }: NamedRow): string | null {
  const [first = "", ...above] = (before ?? name ?? "").split(".");
  const hash = hashIn(first);
  if (hash === undefined || !above.some((part) => hashIn(part) !== undefined)) return before;
  return [`{${hash.slice(2)}}`, ...above].join(".");
}

/** The labelhashes that decide what a domain heals to. */
export function unknownOfDomain({ name, labelName, labelhash, unrevealedName: looked }: NamedRow): Hex[] {
  const ofNames = [name, looked].flatMap(
    (text) => text?.split(".").flatMap((part) => hashIn(part) ?? []) ?? [],
  );
  return labelhash !== null && isUnlabelled(labelName, labelhash) ? [...ofNames, labelhash] : ofNames;
}

/** The labelhash of a registration without a label. */
function unknownOfRegistration(naming: Naming, { id, labelName }: LabelledRow): Hex[] {
  const hash = naming.isSubgraphCompatible && labelName === null ? id : hashIn(labelName ?? "");
  return hash === undefined ? [] : [hash];
}

/** A domain as an index with these labels would have it; the same object if nothing changes. */
export function healedDomain<Row extends NamedRow>(row: Row, find: FindLabel): Row {
  const { labelhash, labelName } = row;
  const known = labelhash !== null && isUnlabelled(labelName, labelhash) ? find(labelhash) : undefined;
  const names = !row.name ? row : healNames(row.name, row.unrevealedName, find);
  const set = {
    name: names.name,
    unrevealedName: names.unrevealedName,
    labelName: known === undefined ? labelName : known.labelName,
  };
  const isSame =
    set.name === row.name && set.unrevealedName === row.unrevealedName && set.labelName === labelName;
  return isSame ? row : { ...row, ...set };
}

/** A registration as an index with these labels would have it; the same object if nothing changes. */
export function healedRegistration<Row extends LabelledRow>(naming: Naming, row: Row, find: FindLabel): Row {
  const [hash] = unknownOfRegistration(naming, row);
  const label = hash && find(hash);
  return label === undefined || label.labelName === row.labelName
    ? row
    : { ...row, labelName: label.labelName };
}

/** Whether a domain or registration has no label, or a label that names cannot use. */
const isUnlabelled = (labelName: string | null, labelhash: Hex) =>
  labelName === null || labelName === encodedLabel(labelhash);

function healNames(name: string, looked: string | null, find: FindLabel) {
  const heal = (part: string) => {
    const hash = hashIn(part);
    return (hash && find(hash)?.part) ?? part;
  };
  const shown = name.split(".");
  if (looked === null) return { name: joinParts(shown.map(heal)), unrevealedName: null };
  const healed = looked.split(".").map(heal);
  // The wrapper's name stays from the first domain on that had no label when it was wrapped.
  const own = healed.findIndex(isWrapped);
  const kept = own === -1 ? healed : [...healed.slice(0, own), ...shown.slice(own)];
  // From the right: below known labels a wrapper revealed nothing, so its label is as good as a known one.
  let isOpen = false;
  const open = healed.toReversed().map((part, index) => {
    const plain = isWrapped(part) && !isOpen ? (shown.at(-1 - index) ?? part) : part;
    isOpen ||= hashIn(plain) !== undefined;
    return plain;
  });
  const isAnyWrapped = open.some(isWrapped);
  return { name: joinParts(kept), unrevealedName: isAnyWrapped ? open.toReversed().join(".") : null };
}

// subgraph: a name that is empty is null, and so are those below it.
const joinParts = (parts: string[]) => (parts.at(-1) === "" ? null : parts.join("."));

type Looking = Pick<Settings, "naming" | "heal"> & {
  /** Fetches labels that are healed next. */
  expect?: (labelhashes: readonly Hex[]) => Promise<void>;
};

/** Heals rows of the tables of domains and registrations, in their order; those of other tables stay. */
export function createHealer({ naming, heal, expect }: Looking): HealRows {
  const findAll = async (labelhashes: Hex[]): Promise<FindLabel> => {
    await expect?.(labelhashes);
    const found = new Map<Hex, StoredLabel | undefined>();
    for (const hash of labelhashes) found.set(hash, naming.proven(hash, await heal(hash)));
    return (hash) => found.get(hash);
  };
  return async (table, rows) => {
    if (table === "domain") {
      const find = await findAll(rows.flatMap((row) => unknownOfDomain(row as NamedRow)));
      return rows.map((row) => healedDomain(row as NamedRow, find));
    }
    if (table !== "registration") return rows;
    const find = await findAll(rows.flatMap((row) => unknownOfRegistration(naming, row as LabelledRow)));
    return rows.map((row) => healedRegistration(naming, row as LabelledRow, find));
  };
}
