import { z } from "zod/v4";
import { type FoundAddress, readAddresses } from "../lookup/address-query.ts";
import { mostCountedOfAddress } from "../lookup/address-sql.ts";
import {
  asOf,
  closedQuery,
  cursorOf,
  cursorParameter,
  type GivenName,
  lookupEnvelope,
  metaSchema,
  paged,
  pageSchema,
  readCursor,
  readName,
} from "../lookup/contract.ts";
import {
  type LookupContext,
  namespaceParameter,
  needsNames,
  notFoundAnswer,
  placesIn,
} from "../lookup/lists.ts";
import { present } from "../lookup/name-rows.ts";
import { type FoundName, type NamesSource, readNames } from "../lookup/names-query.ts";
import { type Place, placeOfRow, timesOf } from "../lookup/places.ts";
import { detailRow, feedRow, primaryFacts, profileRow, rowSchema } from "../lookup/rows.ts";
import type { StoredName } from "../lookup/stored-name.ts";
import { endpoint } from "../rest/endpoint.ts";
import { letOthersWork } from "../rest/turns.ts";
import { addressParameter } from "../rest/values.ts";

const mostInputs = 1_000;
// As many as that many addresses have by default.
const mostRows = 50_000;
const relationWords = ["owner", "manager", "owner,manager", "manager,owner", "any"] as const;

const id = z.string().max(200).optional();
const nameInput = z.strictObject({ id, name: z.string().max(2_000) });
const addressInput = z.strictObject({
  id,
  address: addressParameter("address"),
  coin_type: z.literal(60, { error: "coin_type must be 60" }).default(60),
  relation: z
    .enum(relationWords, { error: `relation must be one of ${relationWords.join(" ")}` })
    .default("any"),
  page_size: z.int().min(1).max(200).default(50),
  cursor: cursorParameter,
});

type NameInput = z.output<typeof nameInput>;
type AddressInput = z.output<typeof addressInput>;

// One kind is checked, so that the fault named is that of the kind that was meant.
const input = z.unknown().transform((value, context): NameInput | AddressInput => {
  const isAddress = typeof value === "object" && value !== null && "address" in value;
  const { data, error } = isAddress ? addressInput.safeParse(value) : nameInput.safeParse(value);
  if (data !== undefined) return data;
  for (const issue of error?.issues ?? [])
    context.addIssue({ code: "custom", message: issue.message, path: [...issue.path] });
  return z.NEVER;
});

// Their labels are normalised and hashed one by one.
const mostCharacters = 100_000;
const charactersOf = (inputs: readonly (NameInput | AddressInput)[]) =>
  inputs.reduce((sum, given) => sum + ("name" in given ? given.name.length : 0), 0);

const rowsOf = (inputs: readonly (NameInput | AddressInput)[]) =>
  inputs.reduce((sum, given) => sum + ("page_size" in given ? given.page_size : 0), 0);

const body = z.strictObject(
  {
    inputs: z
      .array(z.unknown())
      // Before any is looked at.
      .max(mostInputs, { error: `inputs must hold at most ${mostInputs}` })
      .pipe(z.array(input))
      .refine((inputs) => rowsOf(inputs) <= mostRows, {
        error: `inputs must ask for at most ${mostRows} names of addresses in all: lower page_size`,
      })
      .refine((inputs) => charactersOf(inputs) <= mostCharacters, {
        error: `inputs must have names of at most ${mostCharacters} characters in all`,
      })
      .meta({
        description: "Names and addresses: `{id?, name}` or `{id?, address, relation?, page_size?, cursor?}`",
      }),
    profile: z.enum(["feed", "detail"], { error: "profile must be feed or detail" }).default("detail"),
    namespace: namespaceParameter,
  },
  {
    error: (issue) =>
      issue.code === "unrecognized_keys" ? `Unknown member ${issue.keys.join(", ")}` : undefined,
  },
);

const word = z.enum(["ok", "not_found", "invalid_name"]);
const result = z.strictObject({
  input: z.record(z.string(), z.unknown()),
  kind: z.enum(["name", "address"]),
  status: word,
  normalization: z
    .strictObject({
      changed: z.boolean(),
      input_name: z.string(),
      reason: z.enum(["case_normalized", "invalid_normalized_name"]),
    })
    .optional(),
  failure_reason: z.string().optional(),
  record: rowSchema.optional(),
  records: z.array(rowSchema).optional(),
  page: pageSchema.optional(),
});
type Result = z.output<typeof result>;

type Options = {
  isFeed: boolean;
  namespace: string | undefined;
  /** Its places. */
  ofPlaces: readonly Place[] | undefined;
  times: number[];
  signal: AbortSignal;
  /** Writes a result as JSON. */
  write: (value: object) => string;
  /** The JSON of each input's result. */
  results: string[];
};

/** POST /v1/lookup. */
export const lookup = endpoint({
  method: "post",
  path: "/v1/lookup",
  tag: "Lookup",
  summary: "Up to 1,000 names and addresses",
  description:
    "One result for each input, in order: a name's row, or the names that an address owns or manages, its primary name first. What is not found or no name is a result too.",
  envelope: lookupEnvelope,
  query: closedQuery({}),
  body,
  needs: needsNames,
  answers: {
    200: { description: "The results", schema: z.strictObject({ data: z.array(result), meta: metaSchema }) },
    404: notFoundAnswer,
  },
  handle:
    ({ lookup: source }: LookupContext) =>
    async ({ body: { inputs, profile, namespace: given }, current, request, write }) => {
      // The place of each name is known from itself.
      const namespace = given === "auto" || given === "public" ? undefined : given;
      const options = {
        isFeed: profile === "feed",
        namespace,
        ofPlaces: namespace === undefined ? undefined : placesIn(source, namespace),
        times: timesOf(source.places, current),
        signal: request.raw.signal,
        write,
      };
      const asked = inputs.map((given, at) => ({ given, at }));
      const names = asked.filter((one): one is Asked<NameInput> => "name" in one.given);
      const addresses = asked.filter((one): one is Asked<AddressInput> => "address" in one.given);
      const results: string[] = [];
      await Promise.all([
        ofNames(source, names, { ...options, results }),
        ofAddresses(source, addresses, { ...options, results }),
      ]);
      const unsupported =
        addresses.length > 0 && !source.hasRecords ? { unsupported_fields: ["is_primary"] } : {};
      const meta: Meta = { ...asOf(current, source.hashOf), ...unsupported };
      const comma = (at: number) => (at === 0 ? "" : ",");
      const data = results.map((result, at) => `${comma(at)}${result}`);
      return { status: 200, parts: ['{"data":[', ...data, `],"meta":${write(meta)}}`] };
    },
});

type Meta = z.output<typeof metaSchema>;
type Asked<Input> = { given: Input; at: number };
type Source = LookupContext["lookup"];

async function ofNames(source: Source, asked: Asked<NameInput>[], options: Options): Promise<void> {
  const read = await readNamesGiven(asked);
  const names = read.flatMap((name) => ("fault" in name ? [] : [name]));
  const { times, signal, isFeed, write, results } = options;
  const found = await readNames(source, { names, times, withRecords: !isFeed }, signal);
  let next = 0;
  let written = 0;
  for (const [place, { given, at }] of asked.entries()) {
    const name = read[place] ?? { fault: "" };
    const one = "fault" in name ? null : (found[next++] ?? null);
    const text = write(nameResult(source, { given, name, found: one }, options));
    results[at] = text;
    written += text.length;
    if (written < charactersWritten) continue;
    written = 0;
    await letOthersWork();
  }
}

type ReadName = { given: NameInput; name: GivenName; found: FoundName | null };

function nameResult(
  source: Source,
  { given, name, found }: ReadName,
  { isFeed, namespace }: Options,
): Result {
  const start = { input: present(given), kind: "name" as const };
  const normalization = { changed: false, input_name: given.name };
  if ("fault" in name) {
    const reason = "invalid_normalized_name" as const;
    return { ...start, status: "invalid_name", normalization: { ...normalization, reason } };
  }
  const changed: Partial<Result> =
    name.name === given.name
      ? {}
      : { normalization: { ...normalization, changed: true, reason: "case_normalized" } };
  if (found === null || !isOf(source, found.row, namespace))
    return { ...start, status: "not_found", ...changed };
  const record = isFeed ? feedRow(source.places, found.row) : detailRow(source.places, found, source.known);
  return { ...start, status: "ok", ...changed, record };
}

// Others have their turn while many or long names are hashed.
async function readNamesGiven(asked: readonly Asked<NameInput>[]) {
  const read: ReturnType<typeof readName>[] = [];
  let characters = 0;
  for (const { given } of asked) {
    read.push(readName(given.name));
    characters += given.name.length;
    if (characters < charactersOfSlice) continue;
    characters = 0;
    await letOthersWork();
  }
  return read;
}

const charactersOfSlice = 2_000;
// The same of results that are written out.
const charactersWritten = 65_536;

const isOf = ({ places }: NamesSource, row: StoredName, namespace: string | undefined) =>
  namespace === undefined || placeOfRow(places, row).namespace === namespace;

const listOf = ({ address, relation }: AddressInput, namespace: string | undefined) =>
  JSON.stringify(["lookup", address, relation, ...(namespace === undefined ? [] : [namespace])]);

async function ofAddresses(source: Source, asked: Asked<AddressInput>[], options: Options): Promise<void> {
  const { times, signal, write, results, isFeed, namespace, ofPlaces } = options;
  const places = ofPlaces?.map((place) => source.places.indexOf(place) + 1);
  const inputs = asked.map(({ given }) => ({
    address: given.address,
    isOwner: given.relation !== "manager",
    isManager: given.relation !== "owner",
    size: given.page_size,
    after: readCursor(given.cursor, listOf(given, namespace), ["int", "text", "text"]),
    places,
  }));
  await readAddresses(source, { asked: inputs, times }, signal, (equal, found) => {
    // Those that ask for the same names differ in their input alone.
    const [first] = equal.flatMap((place) => asked[place] ?? []);
    if (first === undefined) return;
    const rest = write(addressResult(source, first.given, { ...found, isFeed, namespace })).slice(1);
    for (const place of equal) {
      const one = asked[place];
      if (one) results[one.at] = `{"input":${write(present(echoOf(one.given)))},${rest}`;
    }
  });
}

// Relations in the order that rows have them in.
const echoOf = (given: AddressInput): AddressInput =>
  given.relation === "manager,owner" ? { ...given, relation: "owner,manager" } : given;

function addressResult(
  source: Source,
  given: AddressInput,
  { rows, total, isFeed, namespace }: FoundAddress & Pick<Options, "isFeed" | "namespace">,
): Omit<Result, "input"> {
  const { shown, page } = paged(rows, {
    cursor: given.cursor,
    size: given.page_size,
    total: total > mostCountedOfAddress ? null : total,
    next: (last) => cursorOf(listOf(given, namespace), last.after),
  });
  const records = shown.map((one) => ({
    ...(isFeed ? feedRow : profileRow)(source.places, one.row),
    ...(source.hasRecords ? primaryFacts(source.places, one, source.known) : {}),
    ...present({ relations: one.relations }),
  }));
  return { kind: "address", status: "ok", records, page };
}
