import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startNode } from "../../devnet/node.ts";
import { readAddresses, readRecording } from "../../devnet/recording.ts";
import { waitFor } from "../../devnet/wait.ts";
import { startWorld } from "./world.ts";

const folderOf = (chain: string) =>
  fileURLToPath(new URL(`../../devnet/recording/${chain}`, import.meta.url));

/**
 * Nodes over the three carried recordings (the root chain, and the ones that play Base and Linea) and an indexing service
 * with every plugin over them.
 */
export async function startThreeChains() {
  const more = await Promise.all(
    ["a-base", "a-linea"].map(async (chain) => {
      const contracts = readAddresses(folderOf(chain));
      const recording = readRecording(folderOf(chain));
      return { contracts, recording, node: await startNode({ recording, contracts }) };
    }),
  );
  const world = await startWorld();
  const datasources = join(world.folder, "datasources.json");
  const [base, linea] = more.map(({ contracts, recording }) => ({ contracts, id: recording.chainId }));
  if (base === undefined || linea === undefined) throw new Error("two more chains are needed");
  const root = { contracts: readAddresses(folderOf("a")), id: world.node.chain.chainId };
  writeFileSync(datasources, JSON.stringify({ "ens-test-env": datasourcesOf({ root, base, linea }) }));
  world.start({
    PLUGINS: "subgraph,basenames,lineanames,threedns,protocol-acceleration,registrars,tokenscope",
    SUBGRAPH_COMPAT: "false",
    DATASOURCES_FILE: datasources,
    ...Object.fromEntries(more.map(({ recording, node }) => [`RPC_URL_${recording.chainId}`, node.url])),
  });

  return {
    ...world,
    /** Waits until the root chain is indexed to its head. */
    async waitForHead() {
      await world.waitForIndex({ block: 0, timeoutMs: 150_000 });
      await waitFor(
        "the head of the root chain",
        async () => {
          const number = (await world.status()).find(({ id }) => id === root.id)?.block.number ?? 0;
          return number >= world.node.chain.head()
            ? { done: number }
            : { state: `block ${number} is indexed` };
        },
        { timeoutMs: 150_000, everyMs: 500 },
      );
    },
    async close() {
      await world.close();
      await Promise.all(more.map(({ node }) => node.close()));
    },
  };
}

type Chain = { contracts: Record<string, string>; id: number };

function datasourcesOf({ root, base, linea }: { root: Chain; base: Chain; linea: Chain }) {
  const at = (address: string | undefined) => ({ address: address ?? null, startBlock: 0 });
  const of = ({ contracts, id }: Chain, names: string[], more: object = {}, managedName?: string) => ({
    [id]: {
      ...(managedName === undefined ? {} : { managedName }),
      contracts: { ...Object.fromEntries(names.map((name) => [name, at(contracts[name])])), ...more },
    },
  });
  const anyResolver = { Resolver: { startBlock: 0 } };
  const token = (chain: Chain) => ({ Resolver: at(chain.contracts["ThreeDNSResolver"]) });
  return {
    ensroot: of(
      root,
      [
        "ENSv1RegistryOld",
        "ENSv1Registry",
        "BaseRegistrar",
        "LegacyEthRegistrarController",
        "WrappedEthRegistrarController",
        "UnwrappedEthRegistrarController",
        "UniversalRegistrarRenewalWithReferrer",
        "NameWrapper",
      ],
      anyResolver,
    ),
    rrRoot: of(root, ["DefaultReverseRegistrar"]),
    seaport: of(root, [], {
      Seaport1_5: at(root.contracts["Seaport"]),
      USDC: at(root.contracts["TestUSDC"]),
    }),
    basenames: of(
      base,
      [
        "Registry",
        "BaseRegistrar",
        "EARegistrarController",
        "RegistrarController",
        "UpgradeableRegistrarController",
        "L2Resolver1",
        "L2Resolver2",
      ],
      anyResolver,
      "base.eth",
    ),
    lineanames: of(
      linea,
      ["Registry", "BaseRegistrar", "EthRegistrarController", "NameWrapper", "DefaultPublicResolver"],
      anyResolver,
      "linea.eth",
    ),
    threednsBase: of(base, ["ThreeDNSToken"], token(base)),
    threednsOptimism: of(linea, ["ThreeDNSToken"], token(linea)),
    rrBase: of(base, ["L2ReverseRegistrar"]),
    rrLinea: of(linea, ["L2ReverseRegistrar"]),
  };
}
