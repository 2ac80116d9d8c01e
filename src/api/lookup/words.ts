// The words of the generation before (bigname v0.4): clients of it read the result of a row in `status`, and its life in
// `registration_status`, which mixes wrapping with it.

type Wrapper = { wrapper_state?: string };
type Row = {
  status?: string;
  read_status?: string;
  created_at?: string;
  expires_at?: string | null;
  authority?: string;
  ens_v1?: Wrapper;
  wrapper?: Wrapper;
};

/** The header that asks for the words of a generation. */
export const wordsHeader = "x-words";

/** A body under `/v1` in the words that a request asks for: those of `g3` unless it says `g2`; undefined if it says anything else. */
export function inWords(body: unknown, headers: Headers): unknown {
  const words = headers.get(wordsHeader) ?? "g3";
  if (words === "g2") return reworded(body);
  return words === "g3" ? body : undefined;
}

// Rows are what has a name as it is shown; results and pages around them stay.
function reworded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reworded);
  if (typeof value !== "object" || value === null) return value;
  if ("display_name" in value && "namehash" in value) return formerRow(value as Row);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, reworded(one)]));
}

function formerRow({ status, read_status, ens_v1, wrapper, ...row }: Row) {
  // The short row of a look-up has no life cycle.
  const isShort = read_status !== undefined && row.created_at === undefined;
  return {
    ...row,
    ...(read_status === undefined ? {} : { status: read_status }),
    ...(status === undefined || isShort
      ? {}
      : { registration_status: formerWord(status, row, ens_v1 ?? wrapper) }),
    ...(ens_v1 === undefined ? {} : { ens_v1: withFormerState(ens_v1) }),
    ...(wrapper === undefined ? {} : { wrapper: withFormerState(wrapper) }),
  };
}

const isHeld = (state: string | undefined) =>
  state === "wrapped" || state === "emancipated" || state === "locked";

function formerWord(status: string, { authority, expires_at }: Row, wrapper: Wrapper | undefined): string {
  if (status === "released" || status === "unregistered") return status;
  if (isHeld(wrapper?.wrapper_state)) return "wrapped";
  if (authority === "ens_v2") return "registered";
  return expires_at === undefined ? "unregistered" : "active";
}

// There were three states.
function withFormerState({ wrapper_state, ...facts }: Wrapper): Wrapper {
  return isHeld(wrapper_state) ? { ...facts, wrapper_state } : facts;
}
