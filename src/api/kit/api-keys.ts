import { createHash } from "node:crypto";
import { readFileSync, unwatchFile, watchFile } from "node:fs";
import { LRUCache } from "lru-cache";
import { Counter, type Registry } from "prom-client";
import { type ApiKey, type ApiKeys, apiKeysFrom } from "../../config/api-keys-file.ts";
import { type Log, seeOperations } from "../../log/json-log.ts";

const minuteMs = 60_000;
const keyPrefix = "key:";

// Paths that monitoring, documents and pages need. The framework's own (/health, /ready, /metrics) do not come here.
const free = /^\/($|docs($|\/)|openapi\.json$|assets\/|amirealtime$|api\/(config|indexing-status)$)/;

// Requests of which one may read as much as many others, or asks chains.
const costly = /^\/(subgraph|v1\/(lookup|search)$|api\/resolve\/)/;
const costlyUnits = 10;

/** What a request costs, in units. It depends on the path alone, so that a slow server does not empty budgets. */
const computePrice = (path: string) => (costly.test(path) ? costlyUnits : 1);

/** Units of the current minute, which ends at `until` (Unix milliseconds). */
type Spent = { units: number; until: number };

/**
 * What becomes of a request: how its client is named, the headers of its response, and the refusal if it is refused.
 * `renew`: admits a response that lasts once more, at the same price; false once the key is gone or its budget is
 * spent.
 */
export type Admission = {
  client: string;
  headers: Record<string, string>;
  refusal?: { status: 401 | 403 | 429; message: string };
  renew?: () => boolean;
};

type Request = { path: string; secret: string | undefined; address: string };

type ApiKeyOptions = {
  path: string;
  keys: ApiKeys;
  log: Log;
  registry?: Registry | undefined;
  /** Unix milliseconds. */
  clock?: () => number;
};

// Counts the requests and units of keys, and the units of each client in the current minute.
function createBudgets({ registry, clock = Date.now }: Pick<ApiKeyOptions, "registry" | "clock">) {
  // Clients without a key are any number of addresses.
  const minutes = new LRUCache<string, Spent>({ max: 100_000 });
  const counts = new Map<string, { requests: number; refused: number }>();
  const registers = registry === undefined ? [] : [registry];
  const requests = new Counter({
    ...{ name: "nsindex_api_key_requests_total", help: "Requests by API key and outcome" },
    ...{ labelNames: ["key", "outcome"], registers },
  });
  const units = new Counter({
    ...{ name: "nsindex_api_key_units_total", help: "Units spent by API key" },
    ...{ labelNames: ["key"], registers },
  });

  const spentOf = (client: string): Spent => {
    const found = minutes.get(client);
    if (found !== undefined && found.until > clock()) return found;
    const fresh = { units: 0, until: clock() + minuteMs };
    minutes.set(client, fresh);
    return fresh;
  };

  function count(name: string, isRefused: boolean): void {
    const known = counts.get(name) ?? { requests: 0, refused: 0 };
    known[isRefused ? "refused" : "requests"] += 1;
    counts.set(name, known);
    requests.inc({ key: name, outcome: isRefused ? "refused" : "served" });
  }

  function admit(
    client: string,
    price: number,
    { name, budget }: Pick<ApiKey, "name" | "budget">,
  ): Admission {
    const spent = spentOf(client);
    const seconds = Math.max(1, Math.ceil((spent.until - clock()) / 1_000));
    const isSpent = spent.units + price > budget;
    count(name, isSpent);
    if (!isSpent) {
      spent.units += price;
      units.inc({ key: name }, price);
    }
    // draft-ietf-httpapi-ratelimit-headers-10
    const headers = {
      "RateLimit-Policy": `"minute";q=${budget};w=60`,
      RateLimit: `"minute";r=${budget - spent.units};t=${seconds}`,
    };
    if (!isSpent) return { client, headers };
    const message = `The budget of ${budget} units a minute is spent. Try again in ${seconds} seconds.`;
    return {
      client,
      headers: { ...headers, "retry-after": `${seconds}` },
      refusal: { status: 429, message },
    };
  }

  function refuse(client: string, name: string, refusal: NonNullable<Admission["refusal"]>): Admission {
    count(name, true);
    return { client, headers: refusal.status === 401 ? { "WWW-Authenticate": "Bearer" } : {}, refusal };
  }

  const useOf = (name: string) => ({
    ...{ requests: 0, refused: 0, ...counts.get(name) },
    minute: spentOf(keyPrefix + name).units,
  });
  return { admit, refuse, useOf };
}

/**
 * Admits requests by API key, within its budget. The file is read again when it changes; while it has faults the former
 * keys stay.
 */
export function openApiKeys({ path, keys, log, ...rest }: ApiKeyOptions) {
  let byHash = new Map<string, ApiKey>();
  let anonymous: ApiKeys["anonymous"];
  const budgets = createBudgets(rest);

  function take(given: ApiKeys): void {
    byHash = new Map(given.keys.map((key) => [key.sha256, key]));
    anonymous = given.anonymous;
  }

  function readAgain(): void {
    const faults: string[] = [];
    const given = apiKeysFrom(path, (file) => readFileSync(file, "utf8"), faults);
    if (given === undefined) {
      const section = seeOperations("API keys");
      log("error", `Keeping the current API keys: ${faults.join(" ")}`, { section });
      return;
    }
    take(given);
    log("info", `Read ${given.keys.length} API keys.`);
  }

  const admit = (request: Request): Admission => ({
    ...decide(request),
    renew: () => decide(request).refusal === undefined,
  });

  function decide({ path, secret, address }: Request): Admission {
    if (free.test(path)) return { client: address, headers: {} };
    if (secret === undefined) {
      if (anonymous !== undefined)
        return budgets.admit(address, computePrice(path), { name: "anonymous", budget: anonymous.budget });
      const message = "An API key is needed, as `Authorization: Bearer <key>` or `X-API-Key`.";
      return budgets.refuse(address, "anonymous", { status: 401, message });
    }
    const key = byHash.get(createHash("sha256").update(secret).digest("hex"));
    if (key === undefined)
      return budgets.refuse(address, "unknown", { status: 401, message: "The API key is not known." });
    const client = keyPrefix + key.name;
    if (key.paths.some((begin) => path.startsWith(begin)))
      return budgets.admit(client, computePrice(path), key);
    const message = `The API key may ask for ${key.paths.join(", ")} only.`;
    return budgets.refuse(client, key.name, { status: 403, message });
  }

  take(keys);
  watchFile(path, { interval: 1_000, persistent: false }, readAgain);
  return {
    admit,
    /** The keys as the status page shows them. */
    uses: () => [...byHash.values()].map(({ name, budget }) => ({ name, ...budgets.useOf(name), budget })),
    stop: () => unwatchFile(path, readAgain),
  };
}
