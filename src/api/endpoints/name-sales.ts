import { Hono } from "hono";
import type { Hex } from "viem";
import { z } from "zod/v4";
import { nodeOfName } from "../../ens/names.ts";
import { tokenIdToHex } from "../../ens/nodes.ts";
import type { Database } from "../database/client.ts";
import type { EndpointDocs } from "../rest/endpoint.ts";
import { ApiError, parseQuery } from "../rest/errors.ts";
import { nameParameter } from "../rest/name-parameter.ts";
import {
  addressSchema,
  blockSchema,
  hashSchema,
  invalidInputSchema,
  messageSchema,
  pageContextSchema,
  secondsSchema,
  tokenSchema,
} from "../rest/outputs.ts";
import {
  isPageSizeContradictory,
  lastPage,
  pageContext,
  pageLinks,
  pagingOf,
  pagingParameters,
} from "../rest/paging.ts";
import { bytes32Parameter } from "../rest/parameters.ts";
import type { StatusSource } from "../status/status-source.ts";
import { nameSales, type SaleRow } from "./name-sales-query.ts";

/** What the endpoint must know of the index besides its tables. */
export type NameSalesContext = {
  database: Database;
  status: Pick<StatusSource, "current">;
  plugins: readonly string[];
};

const query = z
  .object({
    domainId: bytes32Parameter("domainId").optional(),
    name: nameParameter("name").optional(),
    ...pagingParameters,
  })
  .refine(({ domainId, name }) => domainId === undefined || name === undefined, {
    error: "Give domainId or name, not both",
    when: ({ issues }) => issues.length === 0,
  })
  .refine((given) => !isPageSizeContradictory(given), {
    path: ["limit"],
    error: "limit is another name of recordsPerPage; both are given and differ",
  });

/** GET /: sales of names, newest first (see `nameSalesDocs`). */
export function nameSalesRoutes({ database, status, plugins }: NameSalesContext): Hono {
  return new Hono().get("/", async (c) => {
    if (!plugins.includes("tokenscope")) {
      throw new ApiError(503, { message: "Sales are not indexed: the plugin tokenscope is not active." });
    }
    const snapshot = status.current()?.snapshot.omnichainSnapshot;
    if (!["omnichain-following", "omnichain-completed"].includes(snapshot?.omnichainStatus ?? "")) {
      throw new ApiError(503, { message: "The index is not complete yet." });
    }
    const parameters = parseQuery(c, query);
    const paging = pagingOf(parameters);
    const { page, recordsPerPage } = paging;
    const { total, sales } = await nameSales(
      database,
      { node: nodeOf(parameters), limit: recordsPerPage, offset: (page - 1) * recordsPerPage },
      c.req.raw.signal,
    );
    const last = lastPage(paging, total);
    if (page > last) {
      throw new ApiError(400, { message: `Page ${page} is behind the last page, which is ${last}.` });
    }
    c.header("link", pageLinks(c.req.url, paging, total));
    return c.json({
      responseCode: "ok",
      nameSales: sales.map(toJson),
      pageContext: pageContext(paging, total),
      accurateAsOf: snapshot?.omnichainIndexingCursor,
    });
  });
}

function nodeOf({ domainId, name }: z.output<typeof query>): Hex | undefined {
  return name === undefined ? domainId : nodeOfName(name);
}

function toJson(sale: SaleRow) {
  return {
    id: sale.id,
    domainId: sale.domainId,
    ...(sale.name === null ? {} : { name: sale.name }),
    token: {
      assetNamespace: sale.assetNamespace,
      contract: { chainId: sale.chainId, address: sale.contract },
      tokenId: tokenIdToHex(BigInt(sale.tokenId)),
    },
    seller: sale.seller,
    buyer: sale.buyer,
    price: { currency: sale.currency, amount: sale.amount },
    block: { timestamp: sale.timestamp, number: sale.blockNumber },
    transactionHash: sale.transactionHash,
    orderHash: sale.orderHash,
  };
}

const answerSchema = z.strictObject({
  responseCode: z.literal("ok"),
  nameSales: z.array(
    z.strictObject({
      id: z.string(),
      domainId: hashSchema,
      name: z.string().optional().meta({ description: "Absent where the index does not name the node" }),
      token: tokenSchema,
      seller: addressSchema,
      buyer: addressSchema,
      price: z.strictObject({
        currency: z.enum(["ETH", "WETH", "USDC", "DAI"]),
        amount: z.string().regex(/^\d+$/).meta({ description: "In the currency's smallest unit" }),
      }),
      block: blockSchema,
      transactionHash: hashSchema,
      orderHash: hashSchema,
    }),
  ),
  pageContext: pageContextSchema,
  accurateAsOf: secondsSchema,
});

export const nameSalesDocs: EndpointDocs = {
  path: "/api/name-sales",
  tag: "Explore",
  summary: "Sales of names",
  description:
    "Filled Seaport orders in which one name was given for payments of one currency, newest first. Give `domainId` or `name` for the sales of one name.",
  query,
  answers: {
    200: { description: "A page of sales, perhaps empty", schema: answerSchema },
    400: { description: "Bad parameters", schema: z.union([invalidInputSchema, messageSchema]) },
    503: {
      description: "The plugin is not active, or the index is not complete yet",
      schema: messageSchema,
    },
  },
};
