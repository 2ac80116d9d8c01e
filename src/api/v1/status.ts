import { z } from "zod/v4";
import { closedQuery } from "../../ens/parameters.ts";
import type { LookupContext } from "../../read/names/source.ts";
import { refuse } from "../../read/refusal.ts";
import type { GoLive } from "../../status/go-live.ts";
import { findIndexedBlock } from "../../status/types.ts";
import type { ResolveContext } from "../ensnode/resolve.ts";
import { endpoint } from "../kit/endpoint.ts";
import { errorSchema, lookupEnvelope } from "./contract.ts";

const number = z.int().nullable();
const state = z.enum(["ready", "degraded", "stale"]);

const chainSchema = z.strictObject({
  latest_block: number,
  indexed_block: number,
  safe_block: number,
  finalized_block: number,
  lag_blocks: number,
  lag_seconds: number,
  network_block: number,
  network_head_observed_at: z.string().nullable(),
  network_head_age_seconds: number,
  network_head_status: z.enum(["fresh", "stale", "unavailable", "pending", "unconfigured"]),
  ingestion_lag_blocks: number,
  ingestion_lag_seconds: number,
  status: state,
});

const statusSchema = z.strictObject({
  status: state,
  pending_invalidation_count: z.int(),
  pending_invalidation_count_capped: z.boolean(),
  dead_letter_count: z.int(),
  chains: z.record(z.string(), chainSchema),
});

type ChainState = z.output<typeof chainSchema>;

// Lag in seconds beyond which a chain counts as degraded or stale.
const [degradedAfter, staleAfter] = [60, 600];

type LookupStatusContext = LookupContext & { clock: () => number };
/** Since when ENSv2 registers names, if it does. */
type GoLiveContext = { goLive?: (() => GoLive | null | undefined) | undefined };

/** GET /v1/status. */
export const lookupStatus = endpoint({
  path: "/v1/status",
  tag: "Lookup",
  summary: "Indexing status of each chain",
  description: "Never waits for a chain. Safe and finalized blocks are unknown here: null.",
  envelope: lookupEnvelope,
  query: closedQuery({}),
  needs: { index: "known" },
  answers: {
    200: {
      description: "The status",
      schema: z.strictObject({ data: statusSchema, meta: z.strictObject({}) }),
    },
  },
  handle: ({ current: { snapshot, stale } }, { clock }: LookupStatusContext) => {
    const now = Math.floor(clock() / 1_000);
    const chains = Object.fromEntries(
      Object.entries(snapshot.omnichainSnapshot.chains).map(([id, chain]): [string, ChainState] => {
        const indexed = findIndexedBlock(chain);
        const known = chain.chainStatus === "chain-following" ? chain.latestKnownBlock : indexed;
        const isDone = chain.chainStatus === "chain-completed";
        const lag = indexed === undefined || isDone ? null : Math.max(0, now - indexed.timestamp);
        const blocks = indexed && known ? known.number - indexed.number : null;
        const head = known === undefined ? null : known.number;
        const isStale = stale !== undefined || indexed === undefined || (lag ?? 0) > staleAfter;
        return [
          id,
          {
            latest_block: head,
            indexed_block: indexed?.number ?? null,
            safe_block: null,
            finalized_block: null,
            lag_blocks: blocks,
            lag_seconds: lag,
            network_block: head,
            network_head_observed_at: known === undefined ? null : String(known.timestamp),
            network_head_age_seconds: known === undefined ? null : Math.max(0, now - known.timestamp),
            network_head_status: known === undefined ? "pending" : isStale ? "stale" : "fresh",
            ingestion_lag_blocks: blocks,
            ingestion_lag_seconds: lag,
            status: isStale ? "stale" : (lag ?? 0) > degradedAfter ? "degraded" : "ready",
          },
        ];
      }),
    );
    const states = Object.values(chains).map(({ status }) => status);
    const worst: z.output<typeof state> =
      (["stale", "degraded"] as const).find((one) => states.includes(one)) ?? "ready";
    const none = {
      pending_invalidation_count: 0,
      pending_invalidation_count_capped: false,
      dead_letter_count: 0,
    };
    return { status: 200, body: { data: { status: worst, ...none, chains }, meta: {} } };
  },
});

const completeness = z.enum(["full", "partial", "unsupported"]);
const support = z.strictObject({ completeness, unsupported_reason: z.string().optional() });
const capability = support.extend({ chains: z.record(z.string(), support).optional() });
const namespaceSchema = z.strictObject({
  namespace: z.string(),
  capabilities: z.record(z.string(), capability),
  networks: z.array(
    z.strictObject({
      network: z.string(),
      chain_id: z.int(),
      resolution: z
        .strictObject({ protocol: z.enum(["ens_v1", "ens_v2"]), since_block: z.int().nullable() })
        .optional()
        .describe("The generation that `.eth` names resolve by; when it took effect is not indexed"),
      registration: z
        .strictObject({ protocol: z.literal("ens_v2"), since_block: z.int() })
        .optional()
        .describe("Since when the registrar of ENSv2 may register names under `.eth`"),
    }),
  ),
});

const full = { completeness: "full" as const };
const noProvider = {
  completeness: "unsupported" as const,
  unsupported_reason: "execution_provider_not_configured",
};

/** GET /v1/namespaces/{namespace}. */
export const lookupNamespace = endpoint({
  path: "/v1/namespaces/{namespace}",
  tag: "Lookup",
  summary: "Status of a namespace",
  description: "Its networks, what is known about its names, and what the chain can be queried for.",
  envelope: lookupEnvelope,
  params: z.object({ namespace: z.string().max(60) }),
  query: closedQuery({}),
  answers: {
    200: {
      description: "The namespace",
      schema: z.strictObject({ data: namespaceSchema, meta: z.strictObject({}) }),
    },
    404: { description: "A namespace that is not indexed", schema: errorSchema },
  },
  handle: (
    { params: { namespace } },
    { lookup, ensv2, resolution, goLive }: LookupContext & ResolveContext & GoLiveContext,
  ) => {
    const ofIt = lookup.namespaces.filter((home) => home.namespace === namespace);
    if (ofIt.length === 0)
      return refuse("not_found", `The namespace ${JSON.stringify(namespace)} is not indexed`);
    const withRecords = lookup.hasRecords ? full : { completeness: "partial" as const };
    // Names of every chain resolve from the root registry.
    const asked = resolution.clientOf(resolution.known.root.chainId) === undefined ? noProvider : full;
    const verified = { ...asked, chains: Object.fromEntries(ofIt.map(({ chainId }) => [chainId, asked])) };
    const capabilities = {
      subnames: full,
      name_profile: full,
      name_history: full,
      verified_records: verified,
      verified_primary_name: verified,
      names: full,
      address_names: full,
      search: full,
      records: withRecords,
      primary_names: withRecords,
    };
    const protocol = ensv2?.isInForce ? ("ens_v2" as const) : ("ens_v1" as const);
    const live = goLive?.();
    const networks = ofIt.map(({ network, chainId, isRoot }) => ({
      network,
      chain_id: chainId,
      resolution: isRoot ? { protocol, since_block: null } : undefined,
      registration: isRoot && live ? { protocol: "ens_v2" as const, since_block: live.block } : undefined,
    }));
    return { status: 200, body: { data: { namespace, capabilities, networks }, meta: {} } };
  },
});
