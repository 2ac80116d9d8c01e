import { type Hex, toCoinType } from "viem";
import { z } from "zod/v4";
import { isNormalizedName } from "../../ens/normalization.ts";
import { anyCaseAddress, choice, closedQuery, oneText } from "../../ens/parameters.ts";
import { isEvmCoinType, reverseNode } from "../../ens/reverse-names.ts";
import { addressSchema } from "../../ens/schemas.ts";
import { asOfWithToken } from "../../read/as-of.ts";
import { addKeys, keysOfAddress, keysOfName, unkeyed } from "../../read/names/cache-keys.ts";
import { homeOfRow } from "../../read/names/indexed-namespaces.ts";
import { claimOfCoin, claimSql, readGivenNames } from "../../read/names/lookups.ts";
import {
  defaultCoin,
  detailRow,
  findDefaultAddress,
  findRecord,
  isReadFromEvents,
} from "../../read/names/rows.ts";
import { namespaceParameter, namespacesIn } from "../../read/names/scopes.ts";
import type { LookupContext, StatementCall } from "../../read/names/source.ts";
import { primaryNameClaim } from "../../read/resolution/resolve.ts";
import { askChain, type ResolveContext } from "../ensnode/resolve.ts";
import { endpoint } from "../kit/endpoint.ts";
import { atParameter, minBlockParameter } from "../kit/position.ts";
import { describeAnswers, ofLookup } from "./lists.ts";

// The primary name of an address: what it claims, what the chain says of it, and why there is none.

const answerWord = z.enum(["ok", "not_found", "invalid_name", "mismatch", "unsupported", "failed"]);
const verificationSchema = z.strictObject({
  status: answerWord,
  name: z.string().optional(),
  unsupported_reason: z.string().optional(),
  failure_reason: z.string().optional(),
  reason: z
    .string()
    .optional()
    .describe(
      "The step that fails: `no_reverse_record`, `not_normalized`, `no_forward_record`, `other_address` or `resolver_unreachable`",
    ),
});
const primaryAnswer = verificationSchema.extend({
  source: z.enum(["indexed", "verified"]),
  raw_claim_name: z.string().optional(),
});

const primaryAnswers = z.strictObject({
  address: addressSchema,
  coin_type: z.int(),
  namespace: z.string(),
  answers: z.array(primaryAnswer),
  verification: verificationSchema.optional(),
});

/** GET /v1/addresses/{address}/primary-name. */
export const addressPrimaryName = endpoint({
  ...ofLookup,
  path: "/v1/addresses/{address}/primary-name",
  summary: "Primary name of an address",
  description:
    "`indexed`: the claim, without forward verification. `verified`: the chain's response with forward verification, repeated in `verification`; `mismatch` if the claimed name has another address. Coin types of EVM chains; default: that of the namespace's chain, 60 for `ens`.",
  params: z.object({ address: anyCaseAddress("address") }),
  query: closedQuery({
    coin_type: oneText("coin_type")
      .regex(/^\d{1,19}$/, { error: "coin_type must contain only decimal digits" })
      .transform(Number)
      .optional(),
    namespace: namespaceParameter,
    source: choice("source", ["indexed", "verified"]).optional(),
    at: atParameter,
    min_block: minBlockParameter,
  }),
  answers: describeAnswers("The answers, including those without a name", { data: primaryAnswers }, 404),
  handle: async (
    { params: { address }, query: { source, namespace = "ens", ...given }, current, ...call },
    context: LookupContext & ResolveContext,
  ) => {
    const { lookup } = context;
    const [home] = namespacesIn(lookup, namespace);
    addKeys(call, ...(source === "indexed" ? keysOfAddress(lookup.namespaces, address) : [unkeyed]));
    const coin = given.coin_type ?? (home && !home.isRoot ? Number(toCoinType(home.chainId)) : eth);
    const [claim, verification] = await Promise.all([
      source === "verified" ? undefined : readClaim(lookup, { ...call, current }, { address, coin }),
      source === "indexed" ? undefined : verified(),
    ]);
    const answers = [
      ...(claim ? [claim] : []),
      ...(verification ? [{ source: "verified" as const, ...verification }] : []),
    ];
    const data = { address, coin_type: coin, namespace, answers, verification };
    const body = { data, meta: asOfWithToken(current, lookup.hashOf) };
    return { status: 200, body, isCached: source === "indexed" };

    async function verified(): Promise<z.output<typeof verificationSchema>> {
      if (!isEvmCoinType(BigInt(coin))) return noSuchNames;
      // Coin type 60 means the root chain, which is 1 here on test networks too.
      const chainId = coin === eth ? 1 : coin - Number(defaultCoin);
      const found = await askChain(context, call, async (resolution) => ({
        claim: await primaryNameClaim(resolution, { address, chainId }),
      }));
      // The claim is worth sending even if the chain fails.
      if ("failure_reason" in found) return { status: "failed", ...found };
      const { name, address: forward, reason } = found.claim;
      if (name === null || forward === null) return { status: "not_found", reason };
      return { status: forward === address ? "ok" : "mismatch", name, reason };
    }
  },
});

const eth = 60;
const noSuchNames = { status: "unsupported", unsupported_reason: "record_family_not_supported" } as const;
async function readClaim(
  lookup: LookupContext["lookup"],
  call: StatementCall,
  { address, coin }: { address: Hex; coin: number },
): Promise<z.output<typeof primaryAnswer>> {
  const source = "indexed" as const;
  // Claims for other chains are indexed with the records.
  if (!isEvmCoinType(BigInt(coin)) || (coin !== eth && !lookup.hasRecords)) return { source, ...noSuchNames };
  const text = (index: number) => `$${index}::text COLLATE "C"`;
  const values = coin === eth ? [address, reverseNode(address)] : [address];
  const read = async (claim: string) =>
    (await lookup.database.row(`SELECT ${claim}`, values, call.request.raw.signal))[0];
  const name = await read(
    coin === eth ? claimSql(lookup, text(1), text(2)) : claimOfCoin(text(1), String(coin)),
  );
  if (!name) {
    // Records have normalized names only; events have others too.
    const emitted =
      coin === eth && (await read(claimSql({ ...lookup, hasRecords: false }, text(1), text(2))));
    const isOdd = emitted && !isNormalizedName(emitted);
    return { source, status: "not_found", reason: isOdd ? "not_normalized" : "no_reverse_record" };
  }
  if (!isNormalizedName(name))
    return { source, status: "invalid_name", raw_claim_name: name, reason: "not_normalized" };
  return {
    source,
    status: "ok",
    name,
    reason: await findForwardFault(lookup, call, { name, address, coin }),
  };
}

// Why a claimed name does not resolve to the address; undefined if it does, or if only the chain can tell.
async function findForwardFault(
  lookup: LookupContext["lookup"],
  call: StatementCall,
  { name, address, coin }: { name: string; address: Hex; coin: number },
) {
  addKeys(call, ...keysOfName(name));
  const [{ found } = { found: null }] = await readGivenNames(lookup, call, {
    given: [name],
    withRecords: true,
  });
  if (found === null || !lookup.hasRecords) return undefined;
  if (found.row.v2?.isInForce) addKeys(call, unkeyed);
  // Names of other chains resolve through a gateway.
  if (!homeOfRow(lookup.namespaces, found.row).isRoot || !isReadFromEvents(lookup, found)) return undefined;
  const row = detailRow(lookup.namespaces, found, lookup.known);
  const fallback = findDefaultAddress(lookup.namespaces, found, lookup.known);
  const { status, value } = findRecord(row, `addr:${coin}`, { found, fallback });
  if (status === "not_found") return "no_forward_record";
  return status === "ok" && value !== address ? "other_address" : undefined;
}
