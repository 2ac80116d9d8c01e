import type { Namespace } from "./datasources.ts";

/** The Holesky test network, root chain only. */
export const holesky: Namespace = {
  ensroot: {
    chainId: 17000,
    managedName: "eth",
    contracts: {
      ENSv1RegistryOld: { address: "0x94f523b8261b815b87effcf4d18e6abef18d6e4b", startBlock: 801_536 },
      ENSv1Registry: { address: "0x00000000000c2e074ec69a0dfb2997ba6c7d2e1e", startBlock: 801_613 },
      Resolver: { startBlock: 801_536 },
      BaseRegistrar: { address: "0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85", startBlock: 801_686 },
      LegacyEthRegistrarController: {
        address: "0xf13fc748601fdc5afa255e9d9166eb43f603a903",
        startBlock: 815_355,
      },
      WrappedEthRegistrarController: {
        address: "0x179be112b24ad4cfc392ef8924dfa08c20ad8583",
        startBlock: 815_359,
      },
      UnwrappedEthRegistrarController: {
        address: "0xfce6ce4373cb6e7e470eaa55329638acd9dbd202",
        startBlock: 4_027_261,
      },
      NameWrapper: { address: "0xab50971078225d365994dc1edcb9b7fd72bb4862", startBlock: 815_127 },
      UniversalResolver: { address: "0xe3f3174fc2f2b17644cd2dbac3e47bc82ae0cf81", startBlock: 8_515_717 },
    },
  },
};
