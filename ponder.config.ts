import { createConfig } from "ponder";
import { readConfig } from "./src/config/environment.ts";
import { entriesForRate } from "./src/config/rpc.ts";
import { type ContractSources, contractSources } from "./src/config/sources.ts";

const config = readConfig();

const chains = Object.fromEntries(
  config.chains.map(({ id, name, rpc }) => [
    name,
    {
      id,
      rpc: entriesForRate(rpc.http, config.rpcRequestsPerSecond),
      ...(rpc.ws === undefined ? {} : { ws: rpc.ws }),
      // A local chain is often made anew under the same chain id: what was cached of the former one would be wrong.
      disableCache: config.namespace === "ens-test-env",
    },
  ]),
);

// Which sources there are depends on the environment, so Ponder's types are told the largest set.
export default createConfig({
  database:
    config.databaseUrl === undefined
      ? { kind: "pglite", directory: config.pgliteDirectory }
      : { kind: "postgres", connectionString: config.databaseUrl },
  ordering: "omnichain",
  chains,
  contracts: contractSources(config) as never,
}) as unknown as {
  chains: Record<string, { id: number }>;
  contracts: ContractSources;
  accounts: Record<never, never>;
  blocks: Record<never, never>;
};
