import type { Hex } from "viem";
import type { Database } from "../database/client.ts";

/** A sale of a name's token. `tokenId` and `amount` are decimal; `name` is null where the index does not name the node. */
export type SaleRow = {
  id: string;
  domainId: Hex;
  name: string | null;
  chainId: number;
  contract: Hex;
  assetNamespace: "erc721" | "erc1155";
  tokenId: string;
  seller: Hex;
  buyer: Hex;
  currency: string;
  amount: string;
  timestamp: number;
  blockNumber: number;
  transactionHash: Hex;
  orderHash: Hex;
};

const statement = (filter: string) => `
SELECT json_build_object('total', (SELECT count(*) FROM name_sales s WHERE ${filter}), 'sales', (
  SELECT coalesce(json_agg(json_build_object(
    'id', s.id, 'domainId', s.domain_id, 'name', d.name, 'chainId', s.chain_id, 'contract', s.contract_address,
    'assetNamespace', s.asset_namespace, 'tokenId', s.token_id::text, 'seller', s.seller, 'buyer', s.buyer,
    'currency', s.currency, 'amount', s.amount::text, 'timestamp', s.timestamp, 'blockNumber', s.block_number,
    'transactionHash', s.transaction_hash, 'orderHash', s.order_hash
  ) ORDER BY s.timestamp DESC, s.chain_id, s.block_number DESC, s.log_index DESC), '[]')
  FROM (
    SELECT * FROM name_sales s WHERE ${filter}
    ORDER BY s.timestamp DESC, s.chain_id, s.block_number DESC, s.log_index DESC LIMIT $1::int OFFSET $2::bigint
  ) s LEFT JOIN domain d ON d.id = s.domain_id
))::text`;

const ofAll = statement("true");
const ofOne = statement("s.domain_id = $3");

/** Newest sales first, of one node's tokens or of all, with the number of all that match. */
export async function nameSales(
  database: Database,
  { node, limit, offset }: { node: Hex | undefined; limit: number; offset: number },
  signal: AbortSignal,
): Promise<{ total: number; sales: SaleRow[] }> {
  const values = [String(limit), String(offset), ...(node === undefined ? [] : [node])];
  const [text] = await database.row(node === undefined ? ofAll : ofOne, values, signal);
  // The statement above is what gives the shape.
  return JSON.parse(text ?? '{"total":0,"sales":[]}') as { total: number; sales: SaleRow[] };
}
