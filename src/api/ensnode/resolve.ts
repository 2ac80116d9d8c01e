import type { Client, Hex } from "viem";
import { z } from "zod/v4";
import { describeRecords } from "../../ens/decoded-records.ts";
import { addressParameter, booleanParameter } from "../../ens/parameters.ts";
import { decodedRecordsSchema } from "../../ens/record-schemas.ts";
import { HttpError } from "../../http/error.ts";
import type { KnownContracts } from "../../read/names/known-contracts.ts";
import { isEmptySelection, recordsSchema } from "../../read/names/selection.ts";
import type { V2Contracts } from "../../read/names/v2-names.ts";
import { ReadError } from "../../read/refusal.ts";
import { type createAdmission, resolutionLimits } from "../../read/resolution/admission.ts";
import { createChainReader, UnavailableError } from "../../read/resolution/chain-reader.ts";
import { createGatewayReader, type GatewayLimits } from "../../read/resolution/gateway.ts";
import { primaryName, type Resolution, resolveRecords } from "../../read/resolution/resolve.ts";
import { traced } from "../../read/resolution/trace.ts";
import type { Database } from "../../read/sql/client.ts";
import { currentMoment } from "../../read/sql/moment.ts";
import { findSlowest } from "../../status/snapshot.ts";
import type { StatusSource } from "../../status/status.ts";
import { endpoint } from "../kit/endpoint.ts";
import { messageSchema } from "../kit/errors.ts";
import { listInput, namePath, selectionQuery } from "./selection.ts";

// Resolution of names and addresses under /api. Each file of this folder is one subject of ENSNode's API; the records
// themselves come from src/read/resolution.

/** The context of resolutions. `clock` gives milliseconds. */
export type ResolveContext = {
  database: Database;
  status: Pick<StatusSource, "current">;
  plugins: readonly string[];
  /** Undefined if the namespace has no contracts of ENSv2. */
  ensv2: V2Contracts | undefined;
  clock: () => number;
  resolution: {
    known: KnownContracts;
    clientOf: (chainId: number) => Client | undefined;
    gatewayLimits: GatewayLimits;
    admit: ReturnType<typeof createAdmission>;
  };
};

// Seconds that the index may lag and still replace the chain.
const maxDistance = 60;

const optionsQuery = z.object({
  accelerate: booleanParameter("accelerate")
    .default(false)
    .describe("Whether to respond from the index where possible (default `false`)"),
  trace: booleanParameter("trace")
    .default(false)
    .describe("Whether to list the steps of the resolution (default `false`)"),
});

const maxChainId = 0x7fffffff;
const isChainId = (text: string) => /^(0|[1-9]\d{0,9})$/.test(text) && Number(text) <= maxChainId;

const accountPath = z.object({
  address: addressParameter("address"),
  chainId: z
    .string()
    .refine(isChainId, `chainId must be an integer from 0 to ${maxChainId}; 0 stands for all EVM chains`)
    .transform(Number)
    .meta({ description: "0 stands for all EVM chains", example: "1" }),
});

const chainsQuery = optionsQuery.extend({
  chainIds: listInput(
    "chainIds",
    (id) => isChainId(id) && id !== "0",
    `integers from 1 to ${maxChainId} with commas between`,
    { item: "a chain", max: 20, items: " chains" },
  )
    .transform((ids) => ids.map(Number))
    .optional()
    .describe("Comma-separated chain ids; default: the chains of this instance's namespace"),
});

const options = {
  accelerationRequested: z.boolean().describe("The parameter `accelerate`"),
  accelerationAttempted: z.boolean().describe("Whether the index was fresh enough to be used"),
  trace: z.array(z.looseObject({ name: z.string() })).optional(),
};
const buildAnswers = <T extends z.core.$ZodLooseShape>(description: string, shape: T) => ({
  200: { description, schema: z.strictObject({ ...shape, ...options }) },
  503: { description: "A chain that the response needs is unavailable", schema: messageSchema },
});

const acceleration =
  " With `accelerate=true` the index is used where its rules allow, if it is at most 60 seconds behind; everything else is requested over RPC.";

/** GET /api/resolve/records/{name}. */
export const resolvedRecords = endpoint({
  path: "/api/resolve/records/{name}",
  tag: "Resolution",
  summary: "Records of a name",
  description: `Every selected record is in the response, null if it is unset. Select at least one.${acceleration}`,
  params: namePath,
  query: selectionQuery.extend(optionsQuery.shape),
  answers: buildAnswers("The records", {
    records: recordsSchema.extend({ decoded: decodedRecordsSchema.optional() }),
  }),
  handle: async (call, context: ResolveContext) => {
    if (isEmptySelection(call.query)) throw new HttpError(400, "Invalid Input", { details: nothingSelected });
    const asked = { name: call.params.name, selection: call.query };
    const body = await resolve(context, call, async (resolution) => {
      const records = await resolveRecords(resolution, asked);
      return { records: { ...records, ...describeRecords(asked.name, records) } };
    });
    return { status: 200, body };
  },
});

/** GET /api/resolve/primary-name/{address}/{chainId}. */
export const resolvedPrimaryName = endpoint({
  path: "/api/resolve/primary-name/{address}/{chainId}",
  tag: "Resolution",
  summary: "Primary name of an account on a chain",
  description: `The name that the account claims, if the name's address on that chain is the account (ENSIP-19). Chain 0 stands for all EVM chains; for the root chain of a test network use 1.${acceleration}`,
  params: accountPath,
  query: optionsQuery,
  answers: buildAnswers("The name or null", { name: z.string().nullable() }),
  handle: async (call, context: ResolveContext) => {
    const body = await resolve(context, call, async (resolution) => ({
      name: await primaryName(resolution, call.params),
    }));
    return { status: 200, body };
  },
});

/** GET /api/resolve/primary-names/{address}. */
export const resolvedPrimaryNames = endpoint({
  path: "/api/resolve/primary-names/{address}",
  tag: "Resolution",
  summary: "Primary names of an account on several chains",
  description: `An unavailable chain is reported under \`errors\` and omitted from \`names\`.${acceleration}`,
  params: z.object({ address: addressParameter("address") }),
  query: chainsQuery,
  answers: buildAnswers("The names by chain id", {
    names: z.record(z.string(), z.string().nullable()),
    errors: z.record(z.string(), z.string()).optional(),
  }),
  handle: async (call, context: ResolveContext) => {
    const { address } = call.params;
    const chainIds = call.query.chainIds ?? context.resolution.known.primaryNameChains;
    const body = await resolve(context, call, (resolution) =>
      readPrimaryNames(resolution, { address, chainIds }),
    );
    return { status: 200, body };
  },
});

const nothingSelected = {
  errors: [
    "Select at least one record: name=true, addresses=60, texts=avatar, contenthash=true, pubkey=true, dnszonehash=true, version=true, abi=1 or interfaces=0x01ffc9a7",
  ],
};

/** A request that asks the chain, and its client. */
export type LiveCall = { request: { raw: Request }; client: string };
/**
 * Runs a resolution within the limits of one client and adds how it went. Throws HttpError 503 for an unavailable
 * chain.
 */
async function resolve<T extends object>(
  context: ResolveContext,
  { query: { accelerate, trace }, request, client }: LiveCall & { query: z.output<typeof optionsQuery> },
  ask: (resolution: Resolution) => Promise<T>,
) {
  const { known, clientOf, gatewayLimits, admit } = context.resolution;
  const index = accelerate ? findFreshIndex(context) : undefined;
  const ending = new AbortController();
  const timeout = AbortSignal.timeout(resolutionLimits.timeoutMs);
  const signal = AbortSignal.any([request.raw.signal, timeout, ending.signal]);
  const askGateways = createGatewayReader(gatewayLimits, signal);
  const reader = createChainReader({ clientOf, known, askGateways, signal });
  try {
    const [result, spans] = await traced(context.clock, () =>
      admit(client, () => ask({ known, reader, signal, database: undefined, ...index })),
    );
    return {
      ...result,
      accelerationRequested: accelerate,
      accelerationAttempted: index !== undefined,
      ...(trace ? { trace: spans } : {}),
    };
  } catch (error) {
    // The cause may contain the URL of an RPC endpoint, and with it a key.
    if (error instanceof UnavailableError)
      throw new HttpError(503, error.message, { headers: { "Retry-After": "5" } });
    throw error;
  } finally {
    // Also ends requests that a failure has made superfluous.
    ending.abort();
  }
}

/** The chain's response, or the reason for none: a failure of the chain, or too many concurrent resolutions. */
export async function askChain<T extends object>(
  context: ResolveContext,
  call: LiveCall,
  ask: (resolution: Resolution) => Promise<T>,
): Promise<T | { failure_reason: string; reason?: "resolver_unreachable" }> {
  if (currentMoment() !== undefined)
    return { failure_reason: "The chain is asked at its newest block only, not as it was." };
  try {
    return await resolve(context, { ...call, query: { accelerate: false, trace: false } }, ask);
  } catch (error) {
    if (error instanceof HttpError) return { failure_reason: error.message, reason: "resolver_unreachable" };
    if (error instanceof ReadError) return { failure_reason: error.message };
    throw error;
  }
}

// The index, if it has records and lags little. Without the registries in force it cannot tell which generation answers
// for a name.
function findFreshIndex({ plugins, status, clock, database, ensv2 }: ResolveContext) {
  const snapshot = status.current()?.snapshot;
  const contracts = ensv2?.isInForce ? ensv2 : undefined;
  const needed = ["protocol-acceleration", ...(contracts ? ["ensv2"] : [])];
  if (snapshot === undefined || !needed.every((plugin) => plugins.includes(plugin))) return undefined;
  if (Math.floor(clock() / 1000) - findSlowest(snapshot).time > maxDistance) return undefined;
  const time = snapshot.omnichainSnapshot.omnichainIndexingCursor;
  return { database, ensv2: contracts && { contracts, time } };
}

// An unavailable chain does not hide the names on the others.
async function readPrimaryNames(
  resolution: Resolution,
  { address, chainIds }: { address: Hex; chainIds: readonly number[] },
) {
  const results = await Promise.allSettled(
    chainIds.map((chainId) => primaryName(resolution, { address, chainId })),
  );
  const names: Record<string, string | null> = {};
  const errors: Record<string, string> = {};
  for (const [index, result] of results.entries()) {
    const chainId = String(chainIds[index]);
    if (result.status === "fulfilled") names[chainId] = result.value;
    else if (result.reason instanceof UnavailableError) errors[chainId] = result.reason.message;
    else throw result.reason;
  }
  const [problem] = Object.values(errors);
  if (problem !== undefined && Object.keys(names).length === 0) throw new UnavailableError(problem);
  return { names, ...(problem === undefined ? {} : { errors }) };
}
