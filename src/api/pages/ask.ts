import type { Context } from "hono";
import type { Log } from "../../log/json-log.ts";
import type { DatedSources } from "./age.ts";
import { memberOf } from "./layout.ts";

/** Requests a path of this service by GET, or by POST with a body, for the client of the request `c`. `isBusy`: it may be asked again soon. */
export type Ask = (path: string, c?: Context, body?: object) => Promise<AskResult>;
type AskResult = { status: number; body: unknown; isBusy?: boolean };

/** The same for the client of one page. Throws rather than leave out what fails, and BusyError for what the service is too busy to read. */
export type PageAsk = (path: string, body?: object) => Promise<AskResult>;

/** What pages are read from. */
export type PageSources = DatedSources & { ask: Ask; log: Log };

const maxAddresses = 100;

/**
 * The verified primary names of the accounts in bodies, by one request: those whose record agrees with the claim, as far as indexed. Of
 * more than a hundred accounts the first ones.
 */
export async function readPrimaryNames(bodies: unknown, ask: PageAsk): Promise<Map<string, string>> {
  const found = new Set<string>();
  addAccounts(bodies, found);
  const accounts = [...found].slice(0, maxAddresses);
  if (accounts.length === 0) return new Map();
  const inputs = accounts.map((address) => ({ address, page_size: 1 }));
  const { body } = await ask("/v1/lookup", { inputs, profile: "feed" });
  const results = memberOf(body, "data");
  const claims = accounts.map((address, at) => [address, memberOf(results, `${at}.records.0`)] as const);
  return new Map(
    claims
      .filter(([, row]) => memberOf(row, "is_primary") && memberOf(row, "is_primary_verified") === true)
      .map(([address, row]) => [address, String(memberOf(row, "name"))]),
  );
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
export async function askRows(ask: PageAsk, path: string, member: string): Promise<unknown[]> {
  const { status, body } = await ask(path);
  const rows = status === 200 ? memberOf(body, member) : undefined;
  return Array.isArray(rows) ? rows : [];
}
