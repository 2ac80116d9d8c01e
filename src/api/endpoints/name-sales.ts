import { z } from "zod/v4";
import { namehash } from "../../ens/names.ts";
import type { Database } from "../database/client.ts";
import { endpoint } from "../rest/endpoint.ts";
import { pageContextSchema, pagedQuery, pagedRefusal, pageOf, pagingOf } from "../rest/pages.ts";
import {
  addressSchema,
  amountSchema,
  bytes32Parameter,
  countSchema,
  field,
  hashSchema,
  nameParameter,
  readingOf,
  secondsSchema,
} from "../rest/values.ts";
import { tokenFields } from "./name-tokens.ts";

const query = pagedQuery({
  domainId: bytes32Parameter("domainId").optional().meta({ description: "Node (namehash) of the name" }),
  name: nameParameter("name").optional().meta({ description: "The normalized name" }),
}).refine(({ domainId, name }) => domainId === undefined || name === undefined, {
  error: "Give domainId or name, not both",
  when: ({ issues }) => issues.length === 0,
});

const sale = readingOf({
  id: field("s.id", z.string()),
  domainId: field("s.domain_id", hashSchema),
  name: field(
    "coalesce(d.name, v.name)",
    z.string().optional().meta({ description: "Absent where the index does not name the node" }),
  ),
  token: tokenFields("s"),
  seller: field("s.seller", addressSchema),
  buyer: field("s.buyer", addressSchema),
  price: {
    currency: field("s.currency", z.enum(["ETH", "WETH", "USDC", "DAI"])),
    amount: field("s.amount::text", amountSchema.meta({ description: "In the currency's smallest unit" })),
  },
  block: { timestamp: field("s.timestamp", secondsSchema), number: field("s.block_number", countSchema) },
  transactionHash: field("s.transaction_hash", hashSchema),
  orderHash: field("s.order_hash", hashSchema),
});

const newestFirst = "s.timestamp DESC, s.chain_id, s.block_number DESC, s.log_index DESC";

const statement = (filter: string) => `
SELECT (SELECT count(*) FROM name_sales s WHERE ${filter})::text, (
  SELECT coalesce(json_agg(${sale.sql} ORDER BY ${newestFirst}), '[]')
  FROM (
    SELECT * FROM name_sales s WHERE ${filter} ORDER BY ${newestFirst} LIMIT $1::int OFFSET $2::bigint
  ) s LEFT JOIN domain d ON d.id = s.domain_id
  LEFT JOIN LATERAL (SELECT o.* FROM v2_domains o
    WHERE o.chain_id = s.chain_id AND o.id = s.domain_id AND o.registry = s.contract_address LIMIT 1) v ON true
)::text`;

const ofAll = statement("true");
const ofOne = statement("s.domain_id = $3");

/** GET /api/name-sales. */
export const nameSales = endpoint({
  path: "/api/name-sales",
  tag: "Explore",
  summary: "Sales of names",
  description:
    "Filled Seaport orders in which one name was given for payments of one currency, newest first. Give `domainId` or `name` for the sales of one name.",
  query,
  needs: { plugins: ["tokenscope"], index: "complete" },
  answers: {
    200: {
      description: "A page of sales, perhaps empty",
      schema: z.strictObject({
        responseCode: z.literal("ok"),
        nameSales: z.array(sale.schema),
        pageContext: pageContextSchema,
        accurateAsOf: secondsSchema,
      }),
    },
    400: pagedRefusal,
  },
  handle:
    ({ database }: { database: Database }) =>
    async ({ query, current, request }) => {
      const paging = pagingOf(query);
      const node = query.name === undefined ? query.domainId : namehash(query.name);
      const { page, recordsPerPage } = paging;
      const values = [recordsPerPage, (page - 1) * recordsPerPage].map(String);
      const [total, rows] = await database.row(
        node === undefined ? ofAll : ofOne,
        node === undefined ? values : [...values, node],
        request.raw.signal,
      );
      const { pageContext, headers } = pageOf(request.url, paging, Number(total));
      const accurateAsOf = current.snapshot.omnichainSnapshot.omnichainIndexingCursor;
      const body = { responseCode: "ok" as const, nameSales: sale.rows(rows), pageContext, accurateAsOf };
      return { status: 200, headers, body };
    },
});
