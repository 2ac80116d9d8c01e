import type { Hex } from "viem";
import type { Database } from "../database/client.ts";

/** A token that ever stood for a name. `tokenId` is decimal. */
export type TokenRow = {
  assetNamespace: "erc721" | "erc1155";
  chainId: number;
  contract: Hex;
  tokenId: string;
  owner: Hex;
  mintStatus: "minted" | "burned";
};

/** A registered name and its tokens in the order of their first events; `expiresAt` in Unix seconds. */
export type NameTokens = { name: string; expiresAt: number; tokens: TokenRow[] };

const statement = `
SELECT json_build_object('name', d.name, 'expiresAt', l.expires_at, 'tokens', (
  SELECT json_agg(json_build_object(
    'assetNamespace', t.asset_namespace, 'chainId', t.chain_id, 'contract', t.contract_address,
    'tokenId', t.token_id::text, 'owner', t.owner, 'mintStatus', t.mint_status
  ) ORDER BY t.first_seen, t.id)
  FROM name_tokens t WHERE t.domain_id = l.node
))::text
FROM registration_lifecycles l JOIN domain d ON d.id = l.node
WHERE l.node = $1 AND d.name IS NOT NULL`;

/** Tokens of a node's name; undefined unless a base registrar registered the name and a token of it was seen. */
export async function nameTokens(
  database: Database,
  node: Hex,
  signal: AbortSignal,
): Promise<NameTokens | undefined> {
  const [text] = await database.row(statement, [node], signal);
  if (typeof text !== "string") return undefined;
  // The statement above is what gives the shape.
  const found = JSON.parse(text) as Omit<NameTokens, "tokens"> & { tokens: TokenRow[] | null };
  return found.tokens === null ? undefined : { ...found, tokens: found.tokens };
}
