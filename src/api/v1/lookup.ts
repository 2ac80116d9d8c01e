import type { Hex } from "viem";
import { z } from "zod/v4";
import type { GivenName } from "../../ens/given-names.ts";
import { anyCaseAddress, closedQuery } from "../../ens/parameters.ts";
import { createPacer } from "../../http/turn.ts";
import { asOfWithToken } from "../../read/as-of.ts";
import { homeOfRow, namespacesText } from "../../read/names/indexed-namespaces.ts";
import { maxCountedOfAddress, readAddresses, readGivenNames } from "../../read/names/lookups.ts";
import {
  detailRow,
  type FoundName,
  feedRow,
  primaryFacts,
  profileRow,
  rowSchema,
} from "../../read/names/rows.ts";
import { namespacesIn } from "../../read/names/scopes.ts";
import type { LookupContext, StatementCall } from "../../read/names/source.ts";
import { refuse } from "../../read/refusal.ts";
import { endpoint } from "../kit/endpoint.ts";
import { cursorMembers, cursorPageSchema, readPageSize } from "../kit/paging.ts";
import { atParameter, minBlockParameter } from "../kit/position.ts";
import { openPage } from "./contract.ts";
import { describeAnswers, ofLookup } from "./lists.ts";
import { relationsText } from "./parameters.ts";

const maxInputs = 1_000;
// A thousand addresses with the default page size.
const maxRows = 50_000;

const id = z.string().trim().min(1, { error: "lookup input id must not be empty" }).max(200).optional();
const nameInput = z.strictObject({ id, name: z.string() });
const addressInput = z.strictObject({
  id,
  // An invalid address fails only its own input.
  address: anyCaseAddress("address").catch(({ value }) => String(value) as Hex),
  coin_type: z.literal(60, { error: "coin_type must be 60" }).default(60),
  relation: relationsText(["owner", "manager"], "relation must be any, owner, manager or both").optional(),
  ...cursorMembers,
});
const isAddress = ({ address }: AddressInput) => /^0x[0-9a-f]{40}$/.test(address);

type NameInput = z.output<typeof nameInput>;
type AddressInput = z.output<typeof addressInput>;

// Only the schema of the apparent kind is tried, so that its issues are reported.
const input = z.unknown().transform((value, context): NameInput | AddressInput => {
  const isAddress = typeof value === "object" && value !== null && "address" in value;
  const { data, error } = isAddress ? addressInput.safeParse(value) : nameInput.safeParse(value);
  if (data !== undefined) return data;
  for (const issue of error?.issues ?? [])
    context.addIssue({ code: "custom", message: issue.message, path: [...issue.path] });
  return z.NEVER;
});

// Labels are normalized and hashed one by one.
const maxCharacters = 100_000;
// Longer texts are no names, and cost nothing.
const maxPerName = 2_000;
const sumBy = <T>(inputs: readonly T[], of: (given: T) => number) =>
  inputs.reduce((sum, given) => sum + of(given), 0);
const countCharacters = (given: NameInput | AddressInput) =>
  "name" in given && given.name.length <= maxPerName ? given.name.length : 0;
const countRows = (given: NameInput | AddressInput) => ("address" in given ? readPageSize(given) : 0);

const body = z.strictObject(
  {
    inputs: z
      .array(z.unknown())
      // The length is checked before any input is parsed.
      .max(maxInputs, { error: `inputs must hold at most ${maxInputs}` })
      .pipe(z.array(input))
      .refine((inputs) => sumBy(inputs, countRows) <= maxRows, {
        error: `inputs must ask for at most ${maxRows} names of addresses in all: lower page_size`,
      })
      .refine((inputs) => sumBy(inputs, countCharacters) <= maxCharacters, {
        error: `inputs must have names of at most ${maxCharacters} characters in all`,
      })
      .describe("Names and addresses: `{id?, name}` or `{id?, address, relation?, page_size?, cursor?}`"),
    profile: z
      .enum(["feed", "detail", "shadow"], { error: "profile must be feed or detail" })
      .default("detail"),
    namespace: z.string().trim().max(60).optional().describe(`${namespacesText}, \`auto\` or \`public\``),
  },
  {
    error: (issue) =>
      issue.code === "unrecognized_keys" ? `Unknown member ${issue.keys.join(", ")}` : undefined,
  },
);

const word = z.enum(["ok", "not_found", "invalid_name", "failed"]);
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
  page: cursorPageSchema.optional(),
});
type Result = z.output<typeof result>;

type LookupOptions = {
  call: StatementCall;
  isFeed: boolean;
  namespace: string | undefined;
  /** JSON of each input's result. */
  results: string[];
};

/** POST /v1/lookup. */
export const lookup = endpoint({
  ...ofLookup,
  method: "post",
  path: "/v1/lookup",
  summary: "Up to 1,000 names and addresses",
  description:
    "One result for each input, in order: a name's row, or the names that an address owns or manages, its primary name first. Inputs that are not found or not names have results too.",
  query: closedQuery({ at: atParameter, min_block: minBlockParameter }),
  body,
  answers: describeAnswers("The results", { data: z.array(result) }),
  handle: async (call, { lookup: source }: LookupContext) => {
    const { inputs, profile, namespace: given } = call.body;
    // `auto` and `public` mean no filter: each name tells its own namespace.
    const namespace = given === "auto" || given === "public" || given === "" ? undefined : given;
    const known = [...new Set(source.namespaces.map((home) => home.namespace))];
    if (namespace !== undefined && !known.includes(namespace))
      refuse("invalid_input", `namespace must be one of: auto, public, ${known.join(", ")}`);
    if (inputs.length > 0 && inputs.every((one) => "address" in one && !isAddress(one)))
      refuse("invalid_input", wrongAddress);
    const results: string[] = [];
    const options = { call, isFeed: profile === "feed", namespace, results };
    const asked = inputs.map((given, at) => ({ given, at }));
    const names = asked.filter((one): one is NumberedInput<NameInput> => "name" in one.given);
    const addresses = asked.filter((one): one is NumberedInput<AddressInput> => "address" in one.given);
    await Promise.all([lookUpNames(source, names, options), lookUpAddresses(source, addresses, options)]);
    const meta = asOfWithToken(call.current, source.hashOf);
    const comma = (at: number) => (at === 0 ? "" : ",");
    const data = results.map((result, at) => `${comma(at)}${result}`);
    return { status: 200, text: ['{"data":[', ...data, `],"meta":${JSON.stringify(meta)}}`] };
  },
});

/**
 * The verified primary names of up to a hundred addresses, by address: of the names that an address holds, the one that
 * it claims and that resolves to it. Pages call it; it is not served over HTTP, and costs what `/v1/lookup` does.
 */
export const primaryNames = endpoint({
  ...ofLookup,
  path: "/v1/lookup",
  summary: "Verified primary names",
  description: "Without those whose resolution only the chain knows.",
  query: z.strictObject({ addresses: z.array(anyCaseAddress("addresses")).max(100) }),
  answers: { 200: { description: "The names", schema: z.map(z.string(), z.string()) } },
  handle: async (call, { lookup: source }: LookupContext) => {
    const { addresses } = call.query;
    const names = new Map<string, string>();
    const ofEach = { owner: true, manager: true, size: 1, after: undefined, namespaces: null };
    const asked = addresses.map((address) => ({ address, ...ofEach }));
    await readAddresses(source, call, asked, (at, { rows: [first] }) => {
      const facts = first && primaryFacts(source.namespaces, first, source.known);
      if (first && facts?.is_primary_verified) names.set(addresses[at] ?? "", first.row.name);
    });
    return { status: 200, body: names };
  },
});

/** Which of up to a hundred names have the text record `avatar`, by node. Pages call it; it is not served over HTTP. */
export const picturedNames = endpoint({
  ...ofLookup,
  path: "/v1/lookup",
  summary: "Names with an avatar",
  description: "As far as records are indexed.",
  query: z.strictObject({ names: z.array(z.string()).max(100) }),
  answers: { 200: { description: "Their nodes", schema: z.set(z.string()) } },
  handle: async (call, { lookup: source }: LookupContext) => {
    const read = await readGivenNames(source, call, { given: call.query.names, withRecords: true });
    const found = read.flatMap(({ found }) =>
      found && detailRow(source.namespaces, found, source.known).records?.texts["avatar"]
        ? found.row.node
        : [],
    );
    return { status: 200, body: new Set<string>(found) };
  },
});

type NumberedInput<Input> = { given: Input; at: number };
type LookupSource = LookupContext["lookup"];

// Other requests run after this many characters of results.
const charactersWritten = 65_536;

async function lookUpNames(
  source: LookupSource,
  asked: NumberedInput<NameInput>[],
  options: LookupOptions,
): Promise<void> {
  const { call, isFeed, results } = options;
  const given = asked.map((one) => one.given.name);
  const read = await readGivenNames(source, call, { given, withRecords: !isFeed });
  const pace = createPacer(charactersWritten);
  for (const [index, one] of read.entries()) {
    const { given, at } = asked[index] as NumberedInput<NameInput>;
    const text = JSON.stringify(buildNameResult(source, { given, ...one }, options));
    results[at] = text;
    await pace(text.length);
  }
}

function buildNameResult(
  { namespaces, known }: LookupSource,
  { given, name, ...read }: { given: NameInput; name: GivenName; found: FoundName | null },
  { isFeed, namespace }: LookupOptions,
): Result {
  const isOther =
    read.found && namespace !== undefined && homeOfRow(namespaces, read.found.row).namespace !== namespace;
  const found = isOther ? null : read.found;
  const result = (status: Result["status"], changed: boolean, reason?: NormalizationReason): Result => ({
    input: given,
    kind: "name",
    status,
    normalization: reason && { changed, input_name: given.name, reason },
  });
  if ("fault" in name && found === null) return result("invalid_name", false, "invalid_normalized_name");
  // A name found as given, not by its normalized form, is not reported as changed.
  const isSame = "fault" in name || name.name === given.name || (found && found.row.node !== name.node);
  const reason = isSame ? undefined : "case_normalized";
  if (found === null) return result("not_found", true, reason);
  const record = isFeed ? feedRow(namespaces, found.row) : detailRow(namespaces, found, known);
  return { ...result("ok", true, reason), record };
}

type NormalizationReason = NonNullable<Result["normalization"]>["reason"];

const both = ["owner", "manager"] as const;
const wrongAddress = "address must be a 0x-prefixed 20-byte hex string";

async function lookUpAddresses(
  source: LookupSource,
  given: NumberedInput<AddressInput>[],
  options: LookupOptions,
): Promise<void> {
  const { call, results, isFeed, namespace } = options;
  const homes = namespacesIn(source, namespace).map((home) => source.namespaces.indexOf(home) + 1);
  const wrong = { kind: "address" as const, status: "failed" as const, failure_reason: wrongAddress };
  for (const { given: input, at } of given)
    if (!isAddress(input)) results[at] = JSON.stringify({ input: echoInput(input), ...wrong });
  // Inputs that differ in their id alone are read once: a batch often asks for one address many times.
  const equal = Map.groupBy(
    given.filter((one) => isAddress(one.given)),
    ({ given: { id: _, relation = both, ...asked } }) => JSON.stringify({ ...asked, relation }),
  );
  const groups = [...equal].map(([key, inputs]) => {
    const { address, relation = both, ...query }: AddressInput = JSON.parse(key);
    const word = relation.length === 1 ? relation[0] : "any";
    const list = ["lookup", address, word, ...(namespace === undefined ? [] : [namespace])];
    const page = openPage(query, list, ["int", "text", "text"]);
    const isAsked = { owner: relation.includes("owner"), manager: relation.includes("manager") };
    const namespaces = namespace === undefined ? null : homes;
    return { inputs, page, asked: { address, ...isAsked, size: page.size, after: page.after, namespaces } };
  });
  const asked = groups.map((group) => group.asked);
  await readAddresses(source, call, asked, (index, { rows, total }) => {
    const { inputs, page: own } = groups[index] as (typeof groups)[number];
    const { shown, page } = own.of(rows, total > maxCountedOfAddress ? null : total);
    const records = shown.map((one) => ({
      ...(isFeed ? feedRow : profileRow)(source.namespaces, one.row),
      ...primaryFacts(source.namespaces, one, source.known),
      relations: one.relations,
    }));
    const result: Omit<Result, "input"> = { kind: "address", status: "ok", records, page };
    const rest = JSON.stringify(result).slice(1);
    for (const { given, at } of inputs) results[at] = `{"input":${JSON.stringify(echoInput(given))},${rest}`;
  });
}

// The input with its defaults; relations in the order of rows.
const echoInput = (given: AddressInput) => ({
  ...given,
  relation: given.relation?.join(","),
});
