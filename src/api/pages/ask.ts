import type { Hex } from "viem";
import { HttpError } from "../../http/error.ts";
import type { Log } from "../../log/json-log.ts";
import type { YearPrice } from "../../read/resolution/prices.ts";
import type { nameSales, nameTokens } from "../ensnode/name-tokens.ts";
import type { registrarActions } from "../ensnode/registrar-actions.ts";
import {
  type Ask,
  type BodyOf,
  type ContextOf,
  type Endpoint,
  type EndpointRequest,
  requestTo,
} from "../kit/endpoint.ts";
import { mayRetry } from "../kit/errors.ts";
import type { nameAccounts } from "../v1/accounts.ts";
import type { blockHistory, events } from "../v1/history.ts";
import { picturedNames, primaryNames } from "../v1/lookup.ts";
import type { addressPrimaryName } from "../v1/primary-name.ts";
import type { DatedSources } from "./age.ts";
import type { Frame } from "./frame.ts";

/** The context of the endpoints that pages show. */
export type PageContext = ContextOf<
  | typeof nameTokens
  | typeof nameSales
  | (typeof registrarActions)[number]
  | typeof addressPrimaryName
  | typeof nameAccounts
  | typeof blockHistory
  | typeof events
>;

/** Calls an endpoint for the client of one page. */
export type PageAsk = <E extends Endpoint<PageContext>>(request: EndpointRequest<E>) => Promise<BodyOf<E>>;

/** What pages are read from. `url`: where clients reach the service, if it is set; `priceOf`: the price of a label. */
export type PageSources = DatedSources & {
  ask: Ask<PageContext>;
  log: Log;
  url?: string | undefined;
  priceOf?: ((label: string) => Promise<YearPrice | undefined>) | undefined;
};

/**
 * The rows that `rowsIn` takes from the reply to a request; undefined if it is refused: the index does not have them.
 */
export async function askRows<E extends Endpoint<PageContext>, Row>(
  ask: PageAsk,
  request: EndpointRequest<E>,
  rowsIn: (body: BodyOf<E>) => readonly Row[],
): Promise<readonly Row[] | undefined> {
  const body = await askBody(ask, request);
  return body && rowsIn(body);
}

/** The reply to a request; undefined if it is refused: the index does not have what is asked for. */
export async function askBody<E extends Endpoint<PageContext>>(
  ask: PageAsk,
  request: EndpointRequest<E>,
): Promise<BodyOf<E> | undefined> {
  try {
    return await ask(request);
  } catch (error) {
    if (error instanceof HttpError && error.status !== 500 && !mayRetry(error)) return undefined;
    throw error;
  }
}

const maxAddresses = 100;

/**
 * The verified primary names of the accounts in bodies, by one request: those whose record agrees with the claim, as
 * far as indexed. Of more than a hundred accounts the first ones.
 */
export async function readPrimaryNames(bodies: unknown, ask: PageAsk): Promise<ReadonlyMap<string, string>> {
  const found = new Set<Hex>();
  addAccounts(bodies, found);
  if (found.size === 0) return new Map();
  return ask(requestTo(primaryNames, {}, { addresses: [...found].slice(0, maxAddresses) }));
}

/** The nodes of the names that have pictures, of the first hundred; none where the service has no pictures. */
export async function readPictures(
  names: readonly (string | undefined)[],
  ask: PageAsk,
  { metadata }: Pick<Frame, "metadata">,
): Promise<ReadonlySet<string>> {
  const asked = [...new Set(names)]
    .filter((name) => name !== undefined && name !== "")
    .slice(0, maxAddresses);
  if (metadata === undefined || asked.length === 0) return new Set();
  return ask(requestTo(picturedNames, {}, { names: asked as string[] }));
}

const isAccount = (text: string): text is Hex => /^0x[0-9a-f]{40}$/.test(text) && !/^0x0{40}$/.test(text);

// Adds the addresses in a body; those beside a chain are contracts.
function addAccounts(value: unknown, found: Set<Hex>): void {
  if (typeof value === "string") {
    if (isAccount(value)) found.add(value);
  } else if (Array.isArray(value)) for (const one of value) addAccounts(one, found);
  else if (typeof value === "object" && value !== null) {
    const isContract = "address" in value && ("chain_id" in value || "chainId" in value);
    for (const [name, one] of Object.entries(value))
      if (!isContract && name !== "contract_address" && name !== "registry_path") addAccounts(one, found);
  }
}
