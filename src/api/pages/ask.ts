import type { Context } from "hono";
import type { Hex } from "viem";
import { namehash } from "../../ens/names.ts";
import { nameKey, reverseNode } from "../names/cache-keys.ts";
import { unkeyed } from "../rest/endpoint.ts";
import { memberOf } from "./layout.ts";

/** Requests a path of this service by GET, or by POST with a body, for the client of the request `c`. `keys`: of the response for caches, if it has any. */
export type Ask = (path: string, c?: Context, body?: object) => Promise<Asked>;
type Asked = { status: number; body: unknown; keys?: string[] | undefined };

/** Requests of one page. `keys`: by which caches may drop it. */
export type Asking = {
  ask: (path: string) => Promise<Asked>;
  primaries: (bodies: unknown) => Promise<Map<string, string>>;
  keys: Set<string>;
};

/** Opens the requests of the page that the request `c` asks for. */
export function openAsking(ask: Ask, c: Context): Asking {
  const keys = new Set<string>();
  return {
    keys,
    ask: async (path) => {
      const answer = await ask(path, c);
      // What others than those under /v1 show changes with the same events.
      if (path.startsWith("/v1/")) for (const key of answer.keys ?? [unkeyed]) keys.add(key);
      return answer;
    },
    primaries: (bodies) => primariesOf(bodies, (inputs) => ask("/v1/lookup", c, inputs), keys),
  };
}

const mostAddresses = 100;

/**
 * The verified primary names of the accounts in bodies, by one request: those whose record agrees with the claim, as far as indexed. Of
 * more than a hundred accounts the first ones.
 */
async function primariesOf(
  bodies: unknown,
  lookUp: (body: object) => Promise<Asked>,
  keys: Set<string>,
): Promise<Map<string, string>> {
  const found = new Set<string>();
  addAccounts(bodies, found);
  const accounts = [...found].slice(0, mostAddresses) as Hex[];
  const names = new Map<string, string>();
  if (accounts.length === 0) return names;
  const inputs = accounts.map((address) => ({ address, page_size: 1 }));
  const { body } = await lookUp({ inputs, profile: "feed" });
  const results = memberOf(body, "data");
  for (const [at, address] of accounts.entries()) {
    for (const key of [`address:${address}`, nameKey(reverseNode(address))]) keys.add(key);
    const row = memberOf(results, `${at}.records.0`);
    if (!memberOf(row, "is_primary")) continue;
    const name = String(memberOf(row, "name"));
    keys.add(nameKey(namehash(name)));
    if (memberOf(row, "is_primary_verified") === true) names.set(address, name);
  }
  return names;
}

// Adds the addresses in a body; those beside a chain are contracts.
function addAccounts(value: unknown, found: Set<string>): void {
  if (typeof value === "string") {
    if (/^0x[0-9a-f]{40}$/.test(value) && !/^0x0{40}$/.test(value)) found.add(value);
  } else if (Array.isArray(value)) for (const one of value) addAccounts(one, found);
  else if (typeof value === "object" && value !== null) {
    const isContract = "address" in value && ("chain_id" in value || "chainId" in value);
    for (const [name, one] of Object.entries(value))
      if (!isContract && name !== "contract_address" && name !== "registry_path") addAccounts(one, found);
  }
}

/** The rows of a response by the path of their list; none if it was refused. */
export async function rowsOf({ ask }: Asking, path: string, member: string): Promise<unknown[]> {
  const { status, body } = await ask(path);
  const rows = status === 200 ? memberOf(body, member) : undefined;
  return Array.isArray(rows) ? rows : [];
}
