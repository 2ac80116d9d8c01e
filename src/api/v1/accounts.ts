import type { Hex } from "viem";
import { z } from "zod/v4";
import { closedQuery } from "../../ens/parameters.ts";
import { addressSchema, chainIdSchema } from "../../ens/schemas.ts";
import { addKeys, unkeyed } from "../../read/names/cache-keys.ts";
import { detailRow } from "../../read/names/rows.ts";
import { namespaceParameter } from "../../read/names/scopes.ts";
import type { LookupContext } from "../../read/names/source.ts";
import { listClaims, type OwnedAccount, readOwnedAccounts } from "../../read/resolution/owned-accounts.ts";
import { resolveRecords } from "../../read/resolution/resolve.ts";
import { askChain, type ResolveContext } from "../ensnode/resolve.ts";
import { endpoint } from "../kit/endpoint.ts";
import { snapshotParameters } from "./contract.ts";
import { describeAnswers, ofLookup, requireRecords } from "./lists.ts";
import { readNameInPath } from "./names.ts";

const accountSchema = z.strictObject({
  chain_id: chainIdSchema,
  address: addressSchema,
  status: z.enum(["verified", "expired", "unproven", "invalid", "unreachable"]),
  expires_at: z.string().optional(),
});

const toRow = ({ chainId, account, status, expiresAt }: OwnedAccount) => ({
  ...{ chain_id: chainId, address: account, status },
  ...(expiresAt !== undefined && { expires_at: String(expiresAt) }),
});

/** GET /v1/names/{name}/accounts. */
export const nameAccounts = endpoint({
  ...ofLookup,
  path: "/v1/names/{name}/accounts",
  summary: "Accounts that a name owns (ENSIP-28)",
  description:
    "At most 32 accounts that the name's data records list, and whether each consents: read and checked on the chains at the time of the request. An account that is not `verified` is not the name's. No account is a payment address: `addr` records are.",
  params: z.object({ name: z.string().meta({ example: "vitalik.eth" }) }),
  query: closedQuery({ namespace: namespaceParameter, ...snapshotParameters }),
  answers: describeAnswers(
    "The accounts",
    {
      data: z.strictObject({
        namespace: z.string(),
        accounts: z.array(accountSchema),
        failure_reason: z.string().optional(),
      }),
    },
    404,
    422,
  ),
  handle: async (call, context: LookupContext & ResolveContext) => {
    const { lookup, resolution } = context;
    requireRecords(lookup, "accounts");
    const { found, name, position } = await readNameInPath(lookup, call, "accounts");
    const row = detailRow(lookup.namespaces, found, lookup.known);
    const hashes = row.records && (found.records?.set?.dataHashes ?? {});
    addKeys(call, unkeyed);
    const read = await askChain(context, call, async ({ reader, ...others }) => {
      const sources = {
        ...{ node: row.namehash as Hex, reader, clientOf: resolution.clientOf },
        recordsChainId: row.resolver?.chain_id ?? lookup.known.root.chainId,
        now: BigInt(Math.floor(context.clock() / 1_000)),
        hashes,
        readData: async (data: readonly string[]) =>
          (await resolveRecords({ reader, ...others }, { name, selection: { data } })).data ?? {},
      };
      return { accounts: await readOwnedAccounts(sources) };
    });
    const accounts = "failure_reason" in read ? listClaims({ hashes }) : read.accounts;
    const reason = "failure_reason" in read ? { failure_reason: read.failure_reason } : {};
    const data = { namespace: row.namespace, accounts: accounts.map(toRow), ...reason };
    return {
      status: 200 as const,
      body: { data, meta: { ...position, source: "verified" as const } },
      isCached: false,
    };
  },
});
