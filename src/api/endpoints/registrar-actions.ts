import { type Context, Hono } from "hono";
import type { Hex } from "viem";
import { z } from "zod/v4";
import type { Subregistry } from "../../deployments/issuers.ts";
import { parseAccountId } from "../../ens/caip-ids.ts";
import { nodeOfInterpretedName } from "../../ens/names.ts";
import type { Database } from "../database/client.ts";
import { ApiError, endpointErrorHandler, parsePath, parseQuery } from "../rest/errors.ts";
import {
  isPageSizeContradictory,
  lastPage,
  pageContext,
  pageLinks,
  pagingOf,
  pagingParameters,
} from "../rest/paging.ts";
import {
  addressParameter,
  booleanParameter,
  bytes32Parameter,
  chainIdParameter,
  timestampParameter,
} from "../rest/parameters.ts";
import type { Snapshot } from "../status/snapshot.ts";
import type { StatusSource } from "../status/status-source.ts";
import { createActionCounts } from "./action-counts.ts";
import { type ActionFilter, type ActionRow, countActions, readActions } from "./registrar-actions-query.ts";

const orderBy = "orderBy[timestamp]=desc";
const statementTimeoutMs = 30_000;

/** Path parameters of the endpoint. */
export const registrarActionsPath = z.object({ parentNode: bytes32Parameter("parentNode") });

/** Query parameters of the endpoint. */
export const registrarActionsQuery = z
  .object({
    ...pagingParameters,
    orderBy: z.literal(orderBy, { error: `orderBy must be ${orderBy}` }).optional(),
    withReferral: booleanParameter("withReferral").optional(),
    decodedReferrer: addressParameter("decodedReferrer").optional(),
    beginTimestamp: timestampParameter("beginTimestamp").optional(),
    endTimestamp: timestampParameter("endTimestamp").optional(),
    type: z.enum(["registration", "renewal"], { error: "type must be registration or renewal" }).optional(),
    registrant: addressParameter("registrant").optional(),
    node: bytes32Parameter("node").optional(),
    name: z
      .string({ error: "name must be given once" })
      .transform((name, { addIssue }) => {
        const node = nodeOfInterpretedName(name);
        if (node === undefined) addIssue("name must be normalized, with unknown labels as [labelhash]");
        return node;
      })
      .optional(),
    chainId: chainIdParameter("chainId").optional(),
  })
  .refine((given) => !isPageSizeContradictory(given), {
    path: ["limit"],
    error: "limit is another name of recordsPerPage; both are given and differ",
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

/**
 * GET / and GET /<parent node>: registrations and renewals, newest first, with the state of their names.
 * 503 until the index has all that an answer needs, 400 for bad parameters and pages behind the last.
 */
export function registrarActionsRoutes({
  plugins,
  subregistries,
  status,
  database,
  log,
}: {
  /** Active plugins. */
  plugins: readonly string[];
  subregistries: readonly Subregistry[];
  status: Pick<StatusSource, "current">;
  database: Database;
  log: (message: string) => void;
}): Hono {
  const required = [...new Set(["registrars", ...subregistries.map(({ namesPlugin }) => namesPlugin)])];
  const unmet = required.filter((plugin) => !plugins.includes(plugin));
  const signal = () => AbortSignal.timeout(statementTimeoutMs);
  const countOf = createActionCounts((filter, before) => countActions(database, filter, before, signal()));

  const answer = async (c: Context, snapshot: Snapshot, parentNode: Hex | undefined) => {
    const given = parseQuery(c, registrarActionsQuery);
    const filter = filterOf(given, parentNode, subregistries);
    const paging = pagingOf(given);
    const totalRecords = await countOf(filter, headOf(snapshot));
    const last = lastPage(paging, totalRecords);
    if (paging.page > last) {
      throw new ApiError(400, { message: `Page ${paging.page} is behind the last page, which is ${last}.` });
    }
    const rows = await readActions(database, filter, { ...paging, totalRecords }, signal());
    c.header("link", pageLinks(c.req.url, paging, totalRecords));
    return c.json({
      responseCode: "ok",
      registrarActions: rows.map(toResponse),
      pageContext: pageContext(paging, totalRecords),
      accurateAsOf: snapshot.slowestChainIndexingCursor,
    });
  };

  const routes = new Hono();
  routes.onError(endpointErrorHandler(log));
  routes.get("/", (c) => {
    const current = preconditions(c, unmet, required, status);
    return current instanceof Response ? current : answer(c, current, undefined);
  });
  routes.get("/:parentNode", (c) => {
    const current = preconditions(c, unmet, required, status);
    return current instanceof Response
      ? current
      : answer(c, current, parsePath(c, registrarActionsPath).parentNode);
  });
  return routes;
}

function preconditions(
  c: Context,
  unmet: readonly string[],
  required: readonly string[],
  status: Pick<StatusSource, "current">,
): Snapshot | Response {
  const refuse = (message: string, details: string) =>
    c.json({ responseCode: "error", error: { message, details } }, 503);
  if (unmet.length > 0) {
    return refuse(
      "Registrar actions are not available with these plugins.",
      `The plugins ${required.join(", ")} must be active; ${unmet.join(", ")} ${unmet.length === 1 ? "is" : "are"} not.`,
    );
  }
  const snapshot = status.current()?.snapshot;
  if (snapshot === undefined) {
    return refuse(
      "The indexing status is not available.",
      "Registrar actions are served once the indexing status is known.",
    );
  }
  const { omnichainStatus } = snapshot.omnichainSnapshot;
  if (omnichainStatus !== "omnichain-following" && omnichainStatus !== "omnichain-completed") {
    return refuse(
      "The index is not complete yet.",
      `The omnichain status must be omnichain-following or omnichain-completed; it is ${omnichainStatus}.`,
    );
  }
  return snapshot;
}

function filterOf(
  given: z.output<typeof registrarActionsQuery>,
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

// Whatever was indexed last, on whichever chain: a count holds until this changes.
function headOf({ omnichainSnapshot }: Snapshot): string {
  return Object.entries(omnichainSnapshot.chains)
    .map(([id, chain]) => `${id}:${"latestIndexedBlock" in chain ? chain.latestIndexedBlock.number : ""}`)
    .join(" ");
}

const ether = (amount: string) => ({ currency: "ETH", amount });

function toResponse(row: ActionRow) {
  const { chainId, address } = parseAccountId(row.subregistryId);
  const { baseCost, premium, total } = row;
  return {
    action: {
      id: row.id,
      type: row.type,
      incrementalDuration: Number(row.incrementalDuration),
      registrant: row.registrant,
      registrationLifecycle: {
        subregistry: { subregistryId: { chainId, address }, node: row.subregistryNode },
        node: row.node,
        expiresAt: Number(row.expiresAt),
      },
      pricing:
        baseCost === null || premium === null || total === null
          ? { baseCost: null, premium: null, total: null }
          : { baseCost: ether(baseCost), premium: ether(premium), total: ether(total) },
      referral: { encodedReferrer: row.encodedReferrer, decodedReferrer: row.decodedReferrer },
      block: { timestamp: Number(row.timestamp), number: Number(row.blockNumber) },
      transactionHash: row.transactionHash,
      eventIds: row.eventIds,
    },
    name: row.name,
  };
}
