import type { Hex } from "viem";
import { z } from "zod/v4";
import { isNormalizedName } from "../../ens/normalization.ts";
import { coinTypeOfChain, isEvmCoinType } from "../../ens/reverse-names.ts";
import { asOfWithToken, closedQuery, metaSchema, refuse } from "../names/contract.ts";
import {
  choice,
  type LookupContext,
  namespaceParameter,
  notFoundAnswer,
  ofLookup,
  placesIn,
  readNameOfPath,
  textParameter,
  unsupportedAnswer,
} from "../names/lists.ts";
import { claimOfCoin, claimSql, defaultCoin, reverseNode } from "../names/lookups.ts";
import {
  defaultAddressOf,
  isAddressKey,
  isReadFromEvents,
  isTextKey,
  type RecordAnswer,
  recordOf,
  recordSchema,
  textKeyOf,
} from "../names/records.ts";
import { detailRow, type Row } from "../names/rows.ts";
import { primaryName, type Resolution, resolveRecords } from "../resolution/resolve.ts";
import type { Records } from "../resolution/selection.ts";
import { endpoint } from "../rest/endpoint.ts";
import { ApiError } from "../rest/errors.ts";
import { addressSchema, anyCaseAddress } from "../rest/values.ts";
import { type ResolveContext, resolve } from "./resolve.ts";

const mostKeys = 200;
const keyForm = /^(addr:\d{1,19}|text:[^\s,]+|avatar|contenthash|name)$/;

// As many of a kind as `/api/resolve/records` asks the chain for.
const mostLive = 50;

/** GET /v1/names/{name}/records. */
export const nameRecords = endpoint({
  ...ofLookup,
  path: "/v1/names/{name}/records",
  summary: "Records of a name",
  description: `The asked keys, or all that were ever set, as indexed. \`source=verified\` asks the chain, CCIP-Read included, for up to ${mostLive} addresses and ${mostLive} texts; \`auto\` only for keys that the index cannot answer. More kinds of records are at \`/api/resolve/records/{name}\`.`,
  hasTags: true,
  params: z.object({ name: z.string().meta({ example: "vitalik.eth" }) }),
  query: closedQuery({
    keys: textParameter("keys", 10_000)
      .transform((text) => text.split(",").map((key) => key.trim()))
      .refine((keys) => keys.length <= mostKeys, { error: `keys must not name more than ${mostKeys}` })
      .refine((keys) => new Set(keys).size === keys.length, {
        error: "keys must not contain duplicate record keys",
      })
      .refine((keys) => keys.every((key) => keyForm.test(key)), {
        error: "keys must be addr:<coin type>, text:<key>, avatar, contenthash or name, with commas between",
      })
      .optional(),
    source: choice("source", ["indexed", "verified", "auto"]).default("indexed"),
  }),
  answers: {
    200: {
      description: "The records by key",
      schema: z.strictObject({
        data: z.strictObject({
          namespace: z.string(),
          resolver: z.strictObject({ chain_id: z.int(), address: addressSchema }).nullable(),
          records: z.record(z.string(), recordSchema),
        }),
        meta: metaSchema,
      }),
    },
    404: notFoundAnswer,
    422: unsupportedAnswer,
  },
  handle: async (call, context: LookupContext & ResolveContext) => {
    const { lookup } = context;
    const { keys, source } = call.query;
    const { found, name } = await readNameOfPath(lookup, call.params.name, { ...call, withRecords: true });
    const row = detailRow(lookup.places, found, lookup.known);
    const known = [...new Set(keys ?? keysOf(row))].sort();
    const fallback = defaultAddressOf(lookup.places, found, lookup.known);
    const indexed = new Map(known.map((key) => [key, recordOf(row, key, { found, fallback })]));
    // Without keys the index tells them, and with them their values, if the code of the name's resolver is known.
    const isProven = isReadFromEvents(lookup, found);
    const isMissing = ([, { status }]: [string, RecordAnswer]) => status === "unsupported" || !isProven;
    const wanted =
      source === "verified"
        ? known
        : source === "auto" && keys
          ? [...indexed].filter(isMissing).map(([key]) => key)
          : [];
    const live = await liveRecordsOf(context, call, { name, keys: wanted });
    const records = Object.fromEntries(known.map((key) => [key, live.get(key) ?? indexed.get(key) ?? unset]));
    const data = { namespace: row.namespace, resolver: row.resolver ?? null, records };
    const isVerified = source === "verified" || wanted.length > 0;
    const meta = {
      ...asOfWithToken(call.current, lookup.hashOf),
      source: isVerified ? ("verified" as const) : ("indexed" as const),
    };
    return { status: 200, body: { data, meta }, isCached: !isVerified };
  },
});

const unset: RecordAnswer = { status: "not_found" };
const numberOf = (key: string) => BigInt(key.slice("addr:".length));

type LiveCall = { request: { raw: Request }; client: string };

/** What the chain responds for keys of a name. Keys that it cannot be asked for are `unsupported` or `failed`. */
async function liveRecordsOf(
  context: ResolveContext,
  call: LiveCall,
  { name, keys }: { name: string; keys: readonly string[] },
): Promise<Map<string, RecordAnswer>> {
  if (keys.length === 0) return new Map();
  const addresses = keys.filter(isAddressKey);
  const texts = keys.filter(isTextKey);
  if (Math.max(addresses.length, texts.length) > mostLive)
    refuse(
      "unsupported",
      `The chain is asked for at most ${mostLive} addresses and ${mostLive} texts: name fewer keys`,
    );
  const all = (answer: RecordAnswer) => new Map(keys.map((key) => [key, answer]));
  if (!isNormalizedName(name))
    return all({ status: "unsupported", unsupported_reason: "verified_records_not_supported" });
  const selection = {
    addresses: addresses.map(numberOf),
    texts: [...new Set(texts.map(textKeyOf))],
    contenthash: keys.includes("contenthash"),
    name: keys.includes("name"),
  };
  const found = await askChain(context, call, async (resolution) => ({
    records: await resolveRecords(resolution, { name, selection }),
  }));
  if ("failure_reason" in found) return all({ status: "failed", ...found });
  return new Map(keys.map((key) => [key, answerOf(found.records, key)]));
}

/** What the chain responds, or why it does not: a failure of its own, or too many resolutions at a time. */
async function askChain<T extends object>(
  context: ResolveContext,
  { request, client }: LiveCall,
  ask: (resolution: Resolution) => Promise<T>,
): Promise<T | { failure_reason: string }> {
  try {
    return await resolve(context, { query: { accelerate: false, trace: false }, request, client }, ask);
  } catch (error) {
    if (error instanceof ApiError) return { failure_reason: error.message };
    throw error;
  }
}

function answerOf({ addresses, texts, contenthash, name }: Records, key: string): RecordAnswer {
  const value = isAddressKey(key)
    ? addresses?.[String(numberOf(key))]
    : isTextKey(key)
      ? texts?.[textKeyOf(key)]
      : key === "name"
        ? name
        : contenthash;
  return value ? { status: "ok", value } : unset;
}

function keysOf({ records }: Row): string[] {
  if (records === undefined) return [];
  const { seen_addresses, seen_texts, seen_singletons } = records;
  return [
    ...seen_addresses.map((coin) => `addr:${coin}`),
    ...seen_texts.map((key) => `text:${key}`),
    ...seen_singletons,
  ];
}

const answerWord = z.enum(["ok", "not_found", "invalid_name", "unsupported", "failed"]);
const primaryAnswer = z.strictObject({
  source: z.enum(["indexed", "verified"]),
  status: answerWord,
  name: z.string().optional(),
  raw_claim_name: z.string().optional(),
  unsupported_reason: z.string().optional(),
  failure_reason: z.string().optional(),
});

type PrimaryAnswer = z.output<typeof primaryAnswer>;

/** GET /v1/addresses/{address}/primary-name. */
export const addressPrimaryName = endpoint({
  ...ofLookup,
  path: "/v1/addresses/{address}/primary-name",
  summary: "The name that an address gave itself",
  description:
    "`indexed`: the claim, which is not checked forward. `verified`: the chain's answer, checked forward. Coin types of EVM chains; that of the namespace's chain unless given, 60 for `ens`.",
  hasTags: true,
  params: z.object({ address: anyCaseAddress("address") }),
  query: closedQuery({
    coin_type: z
      .string({ error: "coin_type must be given once" })
      .regex(/^\d{1,19}$/, { error: "coin_type must contain only decimal digits" })
      .transform(Number)
      .optional(),
    namespace: namespaceParameter,
    source: choice("source", ["indexed", "verified"]).optional(),
  }),
  answers: {
    200: {
      description: "The answers, also where there is no name",
      schema: z.strictObject({
        data: z.strictObject({
          address: addressSchema,
          coin_type: z.int(),
          namespace: z.string(),
          answers: z.array(primaryAnswer),
        }),
        meta: metaSchema,
      }),
    },
    404: notFoundAnswer,
  },
  handle: async (
    { params: { address }, query: { source, namespace = "ens", ...given }, current, ...call },
    context: LookupContext & ResolveContext,
  ) => {
    const { lookup } = context;
    const [place] = placesIn(lookup, namespace);
    const coin = given.coin_type ?? (place && !place.isRoot ? Number(coinTypeOfChain(place.chainId)) : eth);
    const answers = await Promise.all([
      ...(source === "verified" ? [] : [claimOf(lookup, { address, coin }, call.request.raw.signal)]),
      ...(source === "indexed" ? [] : [verified()]),
    ]);
    const data = { address, coin_type: coin, namespace, answers };
    const body = { data, meta: asOfWithToken(current, lookup.hashOf) };
    return { status: 200, body, isCached: source === "indexed" };

    async function verified(): Promise<PrimaryAnswer> {
      if (!isEvmCoinType(BigInt(coin))) return { source: "verified", ...noSuchNames };
      // The root chain's names are for coin type 60 on test networks too.
      const chainId = coin === eth ? 1 : coin - defaultCoin;
      const found = await askChain(context, call, async (resolution) => ({
        name: await primaryName(resolution, { address, chainId }),
      }));
      // The claim is worth sending without it.
      if ("failure_reason" in found) return { source: "verified", status: "failed", ...found };
      return found.name === null
        ? { source: "verified", status: "not_found" }
        : { source: "verified", status: "ok", name: found.name };
    }
  },
});

const eth = 60;
const noSuchNames = { status: "unsupported", unsupported_reason: "record_family_not_supported" } as const;

async function claimOf(
  lookup: LookupContext["lookup"],
  { address, coin }: { address: Hex; coin: number },
  signal: AbortSignal,
): Promise<PrimaryAnswer> {
  // Other chains' claims are indexed with the records.
  if (!isEvmCoinType(BigInt(coin)) || (coin !== eth && !lookup.hasRecords))
    return { source: "indexed", ...noSuchNames };
  const text = (index: number) => `$${index}::text COLLATE "C"`;
  const [sql, values] =
    coin === eth
      ? [claimSql(lookup, text(1), text(2)), [address, reverseNode(address)]]
      : [claimOfCoin(text(1), String(coin)), [address]];
  const [name] = await lookup.database.row(`SELECT ${sql}`, values, signal);
  if (!name) return { source: "indexed", status: "not_found" };
  if (!isNormalizedName(name)) return { source: "indexed", status: "invalid_name", raw_claim_name: name };
  return { source: "indexed", status: "ok", name };
}
