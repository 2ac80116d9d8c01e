import type { Hex } from "viem";
import { z } from "zod/v4";
import type { Subregistry } from "../../deployments/namespaces.ts";
import { nodeOfInterpretedName } from "../../ens/names.ts";
import type { Database } from "../database/client.ts";
import type { V2Contracts } from "../resolution/v2-names.ts";
import { endpoint } from "../rest/endpoint.ts";
import { envelope } from "../rest/errors.ts";
import { pageContextSchema, pagedQuery, pagedRefusal, pageOf, pagingOf } from "../rest/pages.ts";
import {
  addressParameter,
  booleanParameter,
  bytes32Parameter,
  chainIdParameter,
  secondsSchema,
  timestampParameter,
} from "../rest/values.ts";
import { indexedBlockOf, type Snapshot } from "../status/snapshot.ts";
import type { CurrentStatus } from "../status/status-source.ts";
import {
  type ActionFilter,
  actionsIn,
  countActions,
  createActionCounts,
  createActionReading,
  readActions,
} from "./registrar-action-pages.ts";

/** What the endpoints respond from; `ensv2` is undefined where the namespace has no contracts of ENSv2. */
export type RegistrarActionsContext = {
  database: Database;
  plugins: readonly string[];
  subregistries: readonly Subregistry[];
  ensv2: V2Contracts | undefined;
};

const orderBy = "orderBy[timestamp]=desc";

const query = pagedQuery({
  orderBy: z
    .literal(orderBy, { error: `orderBy must be ${orderBy}` })
    .optional()
    .meta({ description: "Newest first, the only order" }),
  withReferral: booleanParameter("withReferral")
    .optional()
    .meta({ description: "`true`: only actions with a referrer" }),
  decodedReferrer: addressParameter("decodedReferrer").optional().meta({ description: "Address" }),
  beginTimestamp: timestampParameter("beginTimestamp")
    .optional()
    .meta({ description: "Unix seconds, inclusive" }),
  endTimestamp: timestampParameter("endTimestamp")
    .optional()
    .meta({ description: "Unix seconds, inclusive" }),
  type: z
    .enum(["registration", "renewal"], { error: "type must be registration or renewal" })
    .optional()
    .meta({ description: "Only actions of this type" }),
  registrant: addressParameter("registrant").optional().meta({ description: "Sender of the transaction" }),
  node: bytes32Parameter("node").optional().meta({ description: "Node (namehash) of the name" }),
  name: z
    .string({ error: "name must be given once" })
    .transform((name, { addIssue }) => {
      const node = nodeOfInterpretedName(name);
      if (node === undefined) addIssue("name must be normalized, with unknown labels as [labelhash]");
      return node;
    })
    .optional()
    .meta({ description: "The name, with unknown labels as `[labelhash]`" }),
  chainId: chainIdParameter("chainId").optional().meta({ description: "Chain of the registrar" }),
})
  .refine(({ node, name }) => node === undefined || name === undefined || node === name, {
    path: ["name"],
    error: "name and node are given and differ",
  })
  .refine(
    ({ beginTimestamp, endTimestamp }) =>
      beginTimestamp === undefined || endTimestamp === undefined || endTimestamp >= beginTimestamp,
    { path: ["endTimestamp"], error: "endTimestamp must not be before beginTimestamp" },
  );
type Query = z.output<typeof query>;

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
      description: "A page of actions, perhaps empty",
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
    handle: (context: RegistrarActionsContext) => {
      const respond = createResponder(context);
      return (call) => respond(call, undefined);
    },
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
    handle: (context: RegistrarActionsContext) => {
      const respond = createResponder(context);
      return (call) => respond(call, call.params.parentNode);
    },
  }),
];

type RequestOfClient = { url: string; raw: Pick<Request, "signal"> };

function createResponder({ database, plugins, subregistries, ensv2 }: RegistrarActionsContext) {
  const actions = actionsIn(database, plugins.includes("ensv2") ? ensv2 : undefined);
  // Later requests use a count too: it goes on when the client of the first has gone.
  const { signal } = new AbortController();
  const countOf = createActionCounts((filter, before) => countActions(database, filter, before, signal));

  return async (
    { query, current, request }: { query: Query; current: CurrentStatus; request: RequestOfClient },
    parentNode: Hex | undefined,
  ) => {
    const { snapshot } = current;
    const filter = filterOf(query, parentNode, subregistries);
    const paging = pagingOf(query);
    const totalRecords = await countOf(filter, headOf(snapshot));
    const { pageContext, headers } = pageOf(request.url, paging, totalRecords);
    const accurateAsOf = snapshot.slowestChainIndexingCursor;
    const page = { ...paging, totalRecords, time: accurateAsOf };
    const registrarActions = await readActions(actions, filter, page, request.raw.signal);
    const body = { responseCode: "ok" as const, registrarActions, pageContext, accurateAsOf };
    return { status: 200 as const, headers, body };
  };
}

function filterOf(
  given: Query,
  parentNode: Hex | undefined,
  subregistries: readonly Subregistry[],
): ActionFilter {
  const { type, registrant, decodedReferrer, beginTimestamp, endTimestamp, chainId } = given;
  const wanted = subregistries.filter(
    (subregistry) =>
      (parentNode === undefined || subregistry.node === parentNode) &&
      (chainId === undefined || subregistry.chainId === chainId),
  );
  return {
    ...(wanted.length < subregistries.length
      ? { subregistryIds: wanted.map(({ subregistryId }) => subregistryId) }
      : {}),
    type,
    registrant,
    decodedReferrer,
    beginTimestamp,
    endTimestamp,
    node: given.node ?? given.name,
    withReferral: given.withReferral,
  };
}

// The last indexed block of every chain: a count is valid until one changes.
function headOf({ omnichainSnapshot }: Snapshot): string {
  return Object.entries(omnichainSnapshot.chains)
    .map(([id, chain]) => `${id}:${indexedBlockOf(chain)?.number ?? ""}`)
    .join(" ");
}
