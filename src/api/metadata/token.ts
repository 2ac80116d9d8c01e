import { isNormalizedName } from "../../ens/normalization.ts";
import type { NameRow } from "../../read/names/rows.ts";

// The metadata of a name's token in the form of ENS's metadata service, as marketplaces and wallets read it.

/**
 * By contract: 0 the registrar, 1 the registrar while the wrapper holds its token, 2 the wrapper, 3 a registry of
 * ENSv2.
 */
type Version = 0 | 1 | 2 | 3;

type Attribute = {
  trait_type: string;
  display_type: "date" | "number" | "string" | "object";
  value: unknown;
};

/**
 * Kind of the characters of a label: of ASCII digits or letters only, letters and digits of any script, emoji, or
 * anything else.
 */
function characterSet(label: string) {
  if (/^\d+$/.test(label)) return "digit";
  if (/^[a-z]+$/i.test(label)) return "letter";
  if (/^[\p{L}\p{N}]+$/u.test(label)) return "alphanumeric";
  return /^[\p{Extended_Pictographic}\p{Emoji_Component}]+$/u.test(label) ? "emoji" : "mixed";
}

const isPlain = (label: string) => /^[\p{ASCII}\p{Extended_Pictographic}\p{Emoji_Component}]*$/u.test(label);

// Dates are milliseconds.
const date = (trait_type: string, seconds: string | null | undefined): Attribute[] =>
  seconds ? [{ trait_type, display_type: "date", value: Number(seconds) * 1_000 }] : [];

function labelAttributes(label: string): Attribute[] {
  // The text of the label is unknown.
  if (label.startsWith("[")) return [];
  const segments = [...new Intl.Segmenter().segment(label)].length;
  return [
    { trait_type: "Length", display_type: "number", value: [...label].length },
    { trait_type: "Segment Length", display_type: "number", value: segments },
    { trait_type: "Character Set", display_type: "string", value: characterSet(label) },
  ];
}

const states: Readonly<Record<string, string>> = {
  wrapped: "Wrapped",
  emancipated: "Emancipated",
  locked: "Locked",
};

const describeState = ({ ens_v1, wrapper = ens_v1 }: NameRow) => states[wrapper?.wrapper_state ?? ""];

function wrapperAttributes(row: NameRow): Attribute[] {
  const expiry = date("Namewrapper Expiry Date", (row.wrapper ?? row.ens_v1)?.wrapper_expires_at);
  const value = describeState(row);
  return value ? [...expiry, { trait_type: "Namewrapper State", display_type: "string", value }] : [];
}

/** The name as its token shows it: if it is not normalized (ENSIP-15), the ends of the token's id stand for it. */
export function nameOfToken({ name, display_name }: NameRow, tokenId: string) {
  const isNormalized = isNormalizedName(name);
  return {
    isNormalized,
    name: isNormalized ? display_name : `[${tokenId.slice(0, 6)}...${tokenId.slice(-4)}].eth`,
  };
}

/** The generation of a token that a contract issued for a name. `isNameWrapper`: undefined for a registry of ENSv2. */
export const chooseVersion = (row: NameRow, isNameWrapper: boolean | undefined): Version =>
  isNameWrapper === undefined ? 3 : isNameWrapper ? 2 : describeState(row) ? 1 : 0;

/** Where the token's and the name's images are, without the last part of either path. */
type Links = { token: string; avatars: string };

/** The metadata of a token: its id is 32 bytes of hex. `now`: milliseconds. */
export function describeToken(
  row: NameRow,
  { tokenId, version, links, now }: { tokenId: string; version: Version; links: Links; now: number },
) {
  const { isNormalized, name } = nameOfToken(row, tokenId);
  const [label = ""] = row.name.split(".");
  const notes = [
    `${name}, an ENS name.`,
    ...(isNormalized ? [] : [`(${row.name} is not in normalized form)`]),
    ...(isPlain(label) ? [] : ["⚠️ It has characters that are not ASCII and may look like others."]),
    ...(version === 2 && describeState(row) === "Wrapped"
      ? ["⚠️ The owner of the name above it can take it back."]
      : []),
  ];
  // Of a name that a registrar leases.
  const lease = row.token_id === undefined ? undefined : row;
  return {
    is_normalized: isNormalized,
    name,
    description: notes.join(" "),
    attributes: [
      ...date("Created Date", row.created_at),
      ...labelAttributes(label),
      ...date("Registration Date", lease?.registered_at),
      ...date("Expiration Date", lease?.expires_at),
      ...(version === 2 ? wrapperAttributes(row) : []),
    ],
    url: isNormalized ? `https://app.ens.domains/name/${row.name}` : null,
    last_request_date: now,
    version,
    ...(isNormalized && { background_image: `${links.avatars}/${row.name}` }),
    image: `${links.token}/image`,
    image_url: `${links.token}/image`,
  };
}
