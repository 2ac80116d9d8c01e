import type { Namespace } from "./datasources.ts";

/** The local test network; its addresses belong to one build of that network (DATASOURCES_FILE replaces them). */
export const devnet: Namespace = {
  ensroot: {
    chainId: 15658733,
    managedName: "eth",
    contracts: {
      ENSv1RegistryOld: { address: "0x0dcd1bf9a1b36ce34237eeafef220932846bcd82", startBlock: 0 },
      ENSv1Registry: { address: "0x9a676e781a523b5d0c0e43731313a708cb607508", startBlock: 0 },
      Resolver: { startBlock: 0 },
      BaseRegistrar: { address: "0xb7278a61aa25c888815afc32ad3cc52ff24fe575", startBlock: 0 },
      LegacyEthRegistrarController: { address: "0xbec49fa140acaa83533fb00a2bb19bddd0290f25", startBlock: 0 },
      WrappedEthRegistrarController: { address: "0x253553366da8546fc250f225fe3d25d0c782303b", startBlock: 0 },
      UnwrappedEthRegistrarController: {
        address: "0xfbc22278a96299d91d41c453234d97b4f5eb9b2d",
        startBlock: 0,
      },
      NameWrapper: { address: "0xfd471836031dc5108809d173a067e8486b9047a3", startBlock: 0 },
      UniversalResolver: { address: "0xdc11f7e700a4c898ae5caddb1082cffa76512add", startBlock: 0 },
    },
  },
  rrRoot: {
    chainId: 15658733,
    contracts: {
      DefaultReverseRegistrar: { address: "0x8f86403a4de0bb5791fa46b8e795c547942fe4cf", startBlock: 0 },
      DefaultReverseResolver3: { address: "0x5eb3bc0a489c5a8288765d2336659ebca68fcd00", startBlock: 0 },
      DefaultPublicResolver4: { address: "0x367761085bf3c12e5da2df99ac6e1a824612b8fb", startBlock: 0 },
      DefaultPublicResolver5: { address: "0x4c2f7092c2ae51d986befee378e50bd4db99c901", startBlock: 0 },
    },
  },
};
