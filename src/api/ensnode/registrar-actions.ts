import { LRUCache } from "lru-cache";
import { type Hex, isAddress } from "viem";
import { z } from "zod/v4";
import type { Subregistry } from "../../deployments/namespaces.ts";
import { nodeOfInterpretedName } from "../../ens/names.ts";
import {
  addressParameter,
  booleanParameter,
  bytes32Parameter,
  chainIdParameter,
  oneText,
  timestampParameter,
} from "../../ens/parameters.ts";
import {
  addressSchema,
  amountSchema,
  chainIdSchema,
  countSchema,
  hashSchema,
  secondsSchema,
} from "../../ens/schemas.ts";
import { finalizedCheckpointSql } from "../../ponder/checkpoints.ts";
import { hasReferrer, idAt } from "../../read/events/referrals.ts";
import { nameOfStored, type V2Contracts } from "../../read/names/v2-names.ts";
import { generationSql, versionSql } from "../../read/names/v2-walk.ts";
import type { Database } from "../../read/sql/client.ts";
import { combineFields, field } from "../../read/sql/fields.ts";
import { currentMoment } from "../../read/sql/moment.ts";
import { hexOf } from "../../schema/sql.ts";
import { findSlowest } from "../../status/snapshot.ts";
import type { CurrentStatus } from "../../status/types.ts";
import { endpoint } from "../kit/endpoint.ts";
import { envelope } from "../kit/errors.ts";
import {
  describePage,
  type Paging,
  pageContextSchema,
  pagedQuery,
  pagedRefusal,
  readPaging,
} from "../kit/paging.ts";
import { atParameter, minBlockParameter } from "../kit/position.ts";

/** The context of the endpoints. */
export type RegistrarActionsContext = {
  plugins: readonly string[];
  subregistries: readonly Subregistry[];
  actions: ReturnType<typeof openActions>;
};

const priceSchema = z
  .strictObject({
    currency: z
      .enum(["ETH", "WETH", "USDC", "DAI", "ERC20"])
      .describe(
        "ETH, except in ENSv2, where names are paid for in tokens; `ERC20` is a token without a known symbol",
      ),
    amount: amountSchema.describe("Wei, or the smallest unit of the token"),
    token: z.strictObject({ chainId: chainIdSchema, address: addressSchema }).optional(),
  })
  .nullable()
  .describe("All three are null if no controller reported prices");

// The three prices are all null if no controller reported them.
const price = (column: string, v2: V2Contracts | undefined) =>
  field(
    `CASE WHEN a.base_cost IS NOT NULL AND a.premium IS NOT NULL AND a.total IS NOT NULL
      THEN concat(${column}::text, ' ', a.payment_token) END`,
    priceSchema,
    (stored): z.output<typeof priceSchema> => {
      const [amount = "", address = ""] = stored.split(" ");
      if (v2 === undefined || !isAddress(address)) return { currency: "ETH", amount };
      const { chainId, currencyOf } = v2;
      return { currency: currencyOf(chainId, address) ?? "ERC20", amount, token: { chainId, address } };
    },
  );

const generation = z.enum(["v1", "v2"]);

/** How an action is read, with the current state of its name. `v2`: the contracts of ENSv2 if it is indexed. */
const createActionReading = (v2: V2Contracts | undefined) =>
  combineFields({
    action: {
      id: field("a.id", z.string().min(1)),
      type: field("a.type", z.enum(["registration", "renewal"])),
      version: field(
        "n.sold_in",
        generation.optional().describe("Generation of ENS in which it was sold, where ENSv2 is indexed"),
      ),
      incrementalDuration: field(
        `least(a.incremental_duration, ${Number.MAX_SAFE_INTEGER})`,
        countSchema.describe("Seconds"),
      ),
      registrant: field("a.registrant", addressSchema),
      registrationLifecycle: {
        subregistry: {
          subregistryId: {
            chainId: field("split_part(n.subregistry_id, ':', 2)::bigint", chainIdSchema),
            address: field("split_part(n.subregistry_id, ':', 3)", addressSchema),
          },
          node: field("s.node", hashSchema),
        },
        node: field("a.node", hashSchema),
        expiresAt: field(`least(n.expires_at, ${Number.MAX_SAFE_INTEGER})`, secondsSchema),
        version: field(
          "n.version",
          generation
            .optional()
            .describe("Generation in force; absent if neither is, or if ENSv2 is not indexed"),
        ),
        reserved: field(
          "n.is_reserved",
          z.boolean().optional().describe("Whether ENSv2 holds the name for its owner in ENSv1"),
        ),
      },
      pricing: {
        baseCost: price("a.base_cost", v2),
        premium: price("a.premium", v2),
        total: price("a.total", v2),
      },
      referral: {
        encodedReferrer: field("a.encoded_referrer", hashSchema.nullable()),
        decodedReferrer: field(
          "a.decoded_referrer",
          addressSchema.nullable().describe("The zero address if the encoded value is not an address"),
        ),
      },
      block: { timestamp: field("a.timestamp", secondsSchema), number: field("a.block_number", countSchema) },
      transactionHash: field(hexOf("a.transaction_hash"), hashSchema),
      eventIds: field("a.event_ids", z.array(z.string()).min(1)),
    },
    name: field("n.name", z.string(), nameOfStored),
  });

const orderBy = "orderBy[timestamp]=desc";

const query = pagedQuery({
  at: atParameter,
  min_block: minBlockParameter,
  orderBy: z
    .literal(orderBy, { error: `orderBy must be ${orderBy}` })
    .optional()
    .describe("Newest first, the only order"),
  withReferral: booleanParameter("withReferral").optional().describe("`true`: only actions with a referrer"),
  decodedReferrer: addressParameter("decodedReferrer").optional().describe("Address"),
  referrer: addressParameter("referrer").optional().describe("The same"),
  beginTimestamp: timestampParameter("beginTimestamp").optional().describe("Unix seconds, inclusive"),
  endTimestamp: timestampParameter("endTimestamp").optional().describe("Unix seconds, inclusive"),
  type: z
    .enum(["registration", "renewal"], { error: "type must be registration or renewal" })
    .optional()
    .describe("Only actions of this type"),
  registrant: addressParameter("registrant").optional().describe("Sender of the transaction"),
  node: bytes32Parameter("node").optional().describe("Node (namehash) of the name"),
  name: oneText("name")
    .transform((name, { addIssue }) => {
      const node = nodeOfInterpretedName(name);
      if (node === undefined) addIssue("name must be normalized, with unknown labels as [labelhash]");
      return node;
    })
    .optional()
    .describe("The name, with unknown labels as `[labelhash]`"),
  chainId: chainIdParameter("chainId").optional().describe("Chain of the registrar"),
})
  .refine(({ node, name }) => node === undefined || name === undefined || node === name, {
    path: ["name"],
    error: "name and node are given and differ",
  })
  .refine(
    ({ referrer, decodedReferrer: decoded }) =>
      referrer === undefined || decoded === undefined || referrer === decoded,
    { path: ["referrer"], error: "referrer and decodedReferrer are given and differ" },
  )
  .refine(
    ({ beginTimestamp, endTimestamp }) =>
      beginTimestamp === undefined || endTimestamp === undefined || endTimestamp >= beginTimestamp,
    { path: ["endTimestamp"], error: "endTimestamp must not be before beginTimestamp" },
  );
type ActionsQuery = z.output<typeof query>;

/** The requested actions. `subregistryIds`: CAIP-10 ids of the base registrars that count. */
export type ActionFilter = ActionsQuery & { subregistryIds?: readonly string[] };

const errorSchema = z.strictObject({
  responseCode: z.literal("error"),
  error: z.strictObject({ message: z.string(), details: z.string().optional() }),
});

const common = {
  tag: "Explore",
  query,
  needs: {
    plugins: ({ subregistries }: RegistrarActionsContext) => [
      ...new Set(["registrars", ...subregistries.map(({ namesPlugin }) => namesPlugin)]),
    ],
    index: "complete",
  },
  envelope: envelope(
    errorSchema,
    ({ message, details }) => ({ responseCode: "error" as const, error: { message, details } }),
    { responseCode: "error", error: { message: "Internal Server Error" } },
  ),
  answers: {
    200: {
      description: "A page of actions, possibly empty",
      schema: z.strictObject({
        responseCode: z.literal("ok"),
        registrarActions: z.array(createActionReading(undefined).schema),
        pageContext: pageContextSchema,
        accurateAsOf: secondsSchema,
      }),
    },
    400: pagedRefusal,
  },
} as const;

/** GET /api/registrar-actions and GET /api/registrar-actions/{parentNode}. */
export const registrarActions = [
  endpoint({
    ...common,
    path: "/api/registrar-actions",
    summary: "Registrations and renewals",
    description:
      "As their users see them: the events of one transaction and name are one action. Newest first.",
    handle: (call, context: RegistrarActionsContext) => respond(context, call),
  }),
  endpoint({
    ...common,
    path: "/api/registrar-actions/{parentNode}",
    params: z.object({
      parentNode: bytes32Parameter("parentNode").meta({
        description: "Node (namehash) of the parent name",
        example: "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae",
      }),
    }),
    summary: "Registrations and renewals under one name",
    description: "Actions on direct subnames of the name with this node: that of eth, base.eth or linea.eth.",
    handle: (call, context: RegistrarActionsContext) => respond(context, call, call.params.parentNode),
  }),
] as const;

type ActionsCall = { query: ActionsQuery; current: CurrentStatus; request: { url: string; raw: Request } };

async function respond(
  { actions, subregistries }: RegistrarActionsContext,
  { query, current, request }: ActionsCall,
  parentNode?: Hex,
) {
  const { signal } = request.raw;
  const wanted = subregistries.filter(
    ({ node, chainId }) => (parentNode ?? node) === node && (query.chainId ?? chainId) === chainId,
  );
  const isLimited = wanted.length < subregistries.length;
  const filter = isLimited
    ? { ...query, subregistryIds: wanted.map(({ subregistryId }) => subregistryId) }
    : query;
  const paging = readPaging(query);
  const totalRecords = await actions.count(filter, signal);
  const { pageContext, headers } = describePage(request.url, paging, totalRecords);
  const page = { ...paging, totalRecords, time: current.snapshot.omnichainSnapshot.omnichainIndexingCursor };
  const registrarActions = await actions.read(filter, page, signal);
  const accurateAsOf = findSlowest(current.snapshot).time;
  const body = { responseCode: "ok" as const, registrarActions, pageContext, accurateAsOf };
  return { status: 200 as const, headers, body };
}

// An action with the state of its name, by the generation in force, else by an ENSv2 entry that was registered.
const ofV1 = `
    JOIN registration_lifecycles l ON l.node = a.node
    JOIN domain ON domain.id = a.node
    CROSS JOIN LATERAL (SELECT domain.name, l.subregistry_id, l.expires_at,
      NULL::text AS sold_in, NULL::text AS version, NULL::boolean AS is_reserved) n`;

const ofBoth = (bind: (value: string) => string, time: number, v2: V2Contracts) => {
  const chainId = bind(String(v2.chainId));
  const ids = bind(`{${v2.ethRegistryIds.join(",")}}`);
  const at = bind(String(time));
  const isV2 = `a.subregistry_id = ANY (${ids}::text[])`;
  return `
    LEFT JOIN registration_lifecycles l ON l.node = a.node
    LEFT JOIN domain ON domain.id = a.node
    LEFT JOIN registration v1 ON v1.id = a.node
    LEFT JOIN v2_entries e ON e.node = a.node AND e.chain_id = ${chainId}::int
      AND e.registry = CASE WHEN ${isV2} THEN split_part(a.subregistry_id, ':', 3) ELSE ${bind(v2.ethRegistry)} END${generationSql({ time: `${at}::numeric`, graveyard: bind(v2.graveyard) })}
    CROSS JOIN LATERAL (SELECT
      CASE WHEN ${isV2} AND e.label IS NOT NULL THEN concat(' ', e.labelhash, e.label) ELSE domain.name END AS name,
      CASE WHEN k.is_entry THEN 'eip155:' || e.chain_id || ':' || e.registry
        ELSE coalesce(l.subregistry_id, a.subregistry_id) END AS subregistry_id,
      CASE WHEN k.is_entry THEN e.expiry ELSE coalesce(l.expires_at, a.timestamp + a.incremental_duration) END AS expires_at,
      CASE WHEN ${isV2} THEN 'v2' WHEN split_part(a.subregistry_id, ':', 2)::bigint = ${chainId}::int THEN 'v1' END AS sold_in,
      ${versionSql} AS version,
      g.generation = 'reserved' AS is_reserved) n`;
};

function buildConditions({ subregistryIds, beginTimestamp, endTimestamp, ...filter }: ActionFilter) {
  const isOne = subregistryIds?.length === 1;
  // `$` stands for the value beside it.
  const given: [condition: string, value: string | undefined][] = [
    isOne
      ? ["subregistry_id = $", subregistryIds[0]]
      : ["subregistry_id = ANY ($::text[])", subregistryIds && `{${subregistryIds.join(",")}}`],
    ["type = $", filter.type],
    ["node = $", filter.node ?? filter.name],
    ["registrant = $", filter.registrant],
    ["decoded_referrer = $", filter.decodedReferrer ?? filter.referrer],
    ["id >= $", beginTimestamp === undefined ? undefined : idAt(beginTimestamp)],
    ["id < $", endTimestamp === undefined ? undefined : idAt(endTimestamp + 1)],
  ];
  const values: string[] = [];
  const parts = ["true", ...(filter.withReferral ? [hasReferrer] : [])];
  for (const [condition, value] of given)
    if (value !== undefined) parts.push(condition.replace("$", `$${values.push(value)}`));
  return { text: parts.join(" AND "), values };
}

/** Actions of a database. `v2`: the contracts of ENSv2 if it is indexed. */
export function openActions(database: Database, v2: V2Contracts | undefined) {
  const reading = createActionReading(v2);
  const settled = new LRUCache<string, { upTo: string; count: number }>({ max: 1_000 });

  /**
   * Counts matching actions. For the last 1,000 filters, counts on from the finalized checkpoint, which no reorg can
   * reach.
   */
  async function count(filter: ActionFilter, signal: AbortSignal): Promise<number> {
    const { text, values } = buildConditions(filter);
    const key = [text, ...values].join("\0");
    const isNow = currentMoment() === undefined;
    const { upTo, count } = (isNow && settled.get(key)) || { upTo: "", count: 0 };
    const sql = `
    WITH border AS MATERIALIZED (SELECT ${finalizedCheckpointSql} AS id)
    SELECT (SELECT id FROM border), count(*)::text, count(*) FILTER (WHERE id <= (SELECT id FROM border))::text
    FROM registrar_actions WHERE ${text} AND id > $${values.length + 1}`;
    const [border, all, final] = await database.row(sql, [...values, upTo], signal);
    if (isNow && border && border >= upTo) settled.set(key, { upTo: border, count: count + Number(final) });
    return count + Number(all);
  }

  /**
   * A page of actions, newest first, with their names' state at `time` (Unix seconds). Reads pages past the middle from
   * the oldest on.
   */
  async function read(
    filter: ActionFilter,
    { page, recordsPerPage, totalRecords, time }: Paging & { totalRecords: number; time: number },
    signal: AbortSignal,
  ) {
    const { text: conditions, values } = buildConditions(filter);
    const first = (page - 1) * recordsPerPage;
    const size = Math.min(recordsPerPage, totalRecords - first);
    if (size <= 0) return [];
    const after = totalRecords - first - size;
    const [order, offset] = after < first ? ["ASC", after] : ["DESC", first];
    const state = v2 ? ofBoth((value) => `$${values.push(value)}`, time, v2) : ofV1;
    const text = `
    WITH page AS MATERIALIZED (
      SELECT id FROM registrar_actions WHERE ${conditions}
      ORDER BY id ${order} LIMIT ${size} OFFSET ${offset}
    )
    SELECT coalesce(json_agg(${reading.sql} ORDER BY a.id DESC), '[]')::text
    FROM page
    JOIN registrar_actions a ON a.id = page.id${state}
    JOIN subregistries s ON s.subregistry_id = n.subregistry_id`;
    const [rows] = await database.row(text, values, signal);
    return reading.rows(rows);
  }

  return { count, read };
}
