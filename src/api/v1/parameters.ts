import { z } from "zod/v4";
import { splitWords, textParameter, wordsParameter } from "../../ens/parameters.ts";
import { authorities } from "../../read/names/scopes.ts";

// Parameters that several endpoints under `/v1` have.

const disjunction = new Intl.ListFormat("en", { type: "disjunction" });

/** The parameter for further members of a response. Clients learn from the refusal which ones exist. */
export const includeParameter = <const T extends readonly [string, ...string[]]>(values: T) =>
  wordsParameter("include", values, `include must contain only ${disjunction.format(values)}`).optional();

const standAlone = ["resolves_to", "former_owner", "owned_account"] as const;

const ofState = ["owner", "manager", "role_holder"] as const;

/** What an address is to a name by the state in force. */
export type RelationOfState = (typeof ofState)[number];

/** The relation of an address to names: some by the state in force, or one that stands alone. */
export type Relation = { of: readonly RelationOfState[]; alone?: (typeof standAlone)[number] };

// Those of `known` among words, in this order; `any` is all of them. Undefined if there is another word, or none.
const pickRelations = <T extends RelationOfState>(words: readonly string[], known: readonly T[]) =>
  words.length > 0 && words.every((word) => word === "any" || known.some((one) => one === word))
    ? known.filter((one) => words.includes("any") || words.includes(one))
    : undefined;

// From comma-separated words in any order, repeatable; `read` gives undefined for others.
const relationWords = <T>(read: (words: readonly string[]) => T | undefined, error: string) =>
  textParameter("relation", 100).transform((text, context): T => {
    const found = read(splitWords(text));
    if (found === undefined) context.addIssue(error);
    return found ?? z.NEVER;
  });

/** Some of the known relations by the state in force. */
export const relationsText = <const T extends readonly RelationOfState[]>(known: T, error: string) =>
  relationWords<readonly T[number][]>((words) => pickRelations(words, known), error);

const wrongRelation =
  "relation must be any, some of owner, manager and role_holder, or resolves_to, former_owner or owned_account alone";

/** A relation: some by the state in force, or one that stands alone. */
export const relationText = relationWords((words): Relation | undefined => {
  const alone = standAlone.find((one) => words.length === 1 && one === words[0]);
  const of = pickRelations(words, ofState);
  return alone ? { of: [], alone } : of && { of };
}, wrongRelation).default({ of: ofState });

/** The parameter that selects registries of the root chain by their generation. */
export const authorityParameter = wordsParameter("authority", authorities)
  .refine((words) => words.length > 0, { error: `authority must be some of ${authorities.join(", ")}` })
  .transform((words) => words.sort())
  .optional();
