import type { Hono } from "hono";
import { createPublicClient, custom } from "viem";
import { namesContext } from "../../../src/api/ensnode/name-tokens.ts";
import { openActions } from "../../../src/api/ensnode/registrar-actions.ts";
import { indexedSubregistries, namespaces } from "../../../src/deployments/namespaces.ts";
import { openFeed } from "../../../src/feed/follow.ts";
import { openReferrals } from "../../../src/read/events/referrals.ts";
import { indexedNamespaces } from "../../../src/read/names/indexed-namespaces.ts";
import { knownContracts } from "../../../src/read/names/known-contracts.ts";
import { createNamesSource } from "../../../src/read/names/lookups.ts";
import { findV2Contracts } from "../../../src/read/names/v2-names.ts";
import { createAdmission, resolutionLimits } from "../../../src/read/resolution/admission.ts";
import { defaultGatewayLimits } from "../../../src/read/resolution/gateway.ts";
import { createDatabase } from "../../../src/read/sql/client.ts";
import { createApi } from "../../../src/service/app.ts";
import type { Snapshot } from "../../../src/status/types.ts";
import { insertAction } from "../../support/actions.ts";
import { countFigures } from "../../support/figures.ts";
import { pageSources, service } from "../../support/service.ts";
import { createEndpoint, createRecordedDatabase } from "../../support/subgraph/endpoint.ts";
import type { FuzzResponse } from "./oracle.ts";
import type { FuzzRequest } from "./requests.ts";

const plugins = [
  "subgraph",
  "basenames",
  "registrars",
  "tokenscope",
  "protocol-acceleration",
  "ensv2",
] as const;
const now = 1_700_000_000;

/**
 * The whole HTTP interface over a recorded chain in an in-memory Postgres; `logged` collects what it logs as errors.
 */
export async function createWholeApi() {
  const client = await createRecordedDatabase();
  for (let i = 0; i < 30; i++) await insertAction(client, { name: `fuzz${i}.eth`, timestamp: now + i * 10 });
  const database = createDatabase(client);
  const namespace = namespaces.mainnet;
  const snapshot = {
    strategy: "omnichain",
    slowestChainIndexingCursor: now,
    snapshotTime: now,
    omnichainSnapshot: { omnichainStatus: "omnichain-following", chains: {}, omnichainIndexingCursor: now },
  } as unknown as Snapshot;
  const status = { current: () => ({ snapshot }) };
  const logged: string[] = [];
  const log = (_level: string, message: string) => void logged.push(message);
  const common = {
    ...service,
    config: { ...service.config, plugins, databaseSchema: "public", chains: [] },
    plugins,
    status,
    database,
    clock: () => now * 1000,
  };
  const homes = indexedNamespaces(namespace, plugins);
  await countFigures(client, homes, { chainId: 1, block: { number: 24_000_000, timestamp: now } });
  const app = createApi({
    context: {
      ...common,
      feed: openFeed({ source: { database, namespaces: homes, times: () => [now] }, log }),
      subregistries: indexedSubregistries(namespace),
      referrals: openReferrals(database),
      editions: [],
      names: namesContext(namespace, plugins),
      actions: openActions(database, undefined),
      ensv2: findV2Contracts(namespaces["sepolia-v2"]),
      lookup: {
        ...createNamesSource({
          database,
          namespaces: homes,
          hasRecords: true,
        }),
        hashOf: () => undefined,
        known: knownContracts(namespace),
      },
      resolution: {
        known: knownContracts(namespace),
        clientOf: revertingClient,
        gatewayLimits: defaultGatewayLimits,
        admit: createAdmission(resolutionLimits),
      },
    },
    subgraph: createEndpoint(client).app,
    pages: {
      ...common,
      ...pageSources,
      process: { isIndexer: true },
      log,
    },
    log,
  });
  return { app, logged, close: () => client.close() };
}

/** Sends a request through the application's own router, without a socket. */
export async function sendTo(app: Hono, { method, path, headers, body }: FuzzRequest): Promise<FuzzResponse> {
  const given = body === undefined || method === "GET" || method === "HEAD" ? {} : { body };
  const response = await app.request(path, { method, headers, ...given });
  const isPacked = response.headers.get("content-encoding") === "gzip";
  const text = isPacked ? await unpacked(response) : await response.text();
  return {
    status: response.status,
    contentType: response.headers.get("content-type"),
    body: text,
  };
}

function unpacked(response: Response): Promise<string> {
  return new Response(response.body?.pipeThrough(new DecompressionStream("gzip"))).text();
}

// A chain whose contracts refuse everything: what is asked of it is up to the other tests.
function revertingClient() {
  const request = async () => {
    throw Object.assign(new Error("execution reverted"), { code: 3 });
  };
  return createPublicClient({ transport: custom({ request }, { retryCount: 0 }) });
}
