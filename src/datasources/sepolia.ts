import type { Namespace } from "./datasources.ts";

/** The Sepolia test networks. */
export const sepolia: Namespace = {
  ensroot: {
    chainId: 11155111,
    managedName: "eth",
    contracts: {
      ENSv1RegistryOld: { address: "0x94f523b8261b815b87effcf4d18e6abef18d6e4b", startBlock: 3_702_721 },
      ENSv1Registry: { address: "0x00000000000c2e074ec69a0dfb2997ba6c7d2e1e", startBlock: 3_702_728 },
      Resolver: { startBlock: 3_702_721 },
      BaseRegistrar: { address: "0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85", startBlock: 3_702_731 },
      LegacyEthRegistrarController: {
        address: "0x7e02892cfc2bfd53a75275451d73cf620e793fc0",
        startBlock: 3_790_197,
      },
      WrappedEthRegistrarController: {
        address: "0xfed6a969aaa60e4961fcd3ebf1a2e8913ac65b72",
        startBlock: 3_790_244,
      },
      UnwrappedEthRegistrarController: {
        address: "0xfb3ce5d01e0f33f41dbb39035db9745962f1f968",
        startBlock: 8_579_988,
      },
      UniversalRegistrarRenewalWithReferrer: {
        address: "0x7ab2947592c280542e680ba8f08a589009da8644",
        startBlock: 9_447_519,
      },
      NameWrapper: { address: "0x0635513f179d50a207757e05759cbd106d7dfce8", startBlock: 3_790_153 },
      UniversalResolver: { address: "0xeeeeeeee14d718c2b47d9923deab1335e144eeee", startBlock: 8_928_790 },
      BasenamesL1Resolver: { address: "0x084d10c07efeecd9ffc73deb38ecb72f9eeb65ab", startBlock: 6_501_252 },
      LineanamesL1Resolver: { address: "0xb4b2748f543265e7e0d471f5d1bda81da4e74624", startBlock: 10_415_742 },
    },
  },
  basenames: {
    chainId: 84532,
    managedName: "basetest.eth",
    contracts: {
      Registry: { address: "0x1493b2567056c2181630115660963e13a8e32735", startBlock: 13_012_458 },
      Resolver: { startBlock: 13_012_458 },
      BaseRegistrar: { address: "0xa0c70ec36c010b55e3c434d6c6ebeec50c705794", startBlock: 13_012_465 },
      EARegistrarController: {
        address: "0x3a0e8c2a0a28f396a5e5b69edb2e630311f1517a",
        startBlock: 13_041_164,
      },
      RegistrarController: { address: "0x49ae3cc2e3aa768b1e5654f5d3c6002144a59581", startBlock: 13_298_580 },
      UpgradeableRegistrarController: {
        address: "0x82c858cdf64b3d893fe54962680edfddc37e94c8",
        startBlock: 29_896_051,
      },
    },
  },
  lineanames: {
    chainId: 59141,
    managedName: "linea-sepolia.eth",
    contracts: {
      Registry: { address: "0x5b2636f0f2137b4ae722c01dd5122d7d3e9541f7", startBlock: 2_395_094 },
      Resolver: { startBlock: 2_395_094 },
      BaseRegistrar: { address: "0x83475a84c0ea834f06c8e636a62631e7d2e07a44", startBlock: 2_395_099 },
      EthRegistrarController: {
        address: "0x0f81e3b3a32dfe1b8a08d3c0061d852337a09338",
        startBlock: 2_395_231,
      },
      NameWrapper: { address: "0xf127de9e039a789806fed4c6b1c0f3affea9425e", startBlock: 2_395_202 },
    },
  },
  rrRoot: {
    chainId: 11155111,
    contracts: {
      DefaultReverseRegistrar: {
        address: "0x4f382928805ba0e23b30cfb75fc9e848e82dfd47",
        startBlock: 8_579_966,
      },
      DefaultReverseResolver1: {
        address: "0x8fade66b79cc9f707ab26799354482eb93a5b7dd",
        startBlock: 3_790_251,
      },
      DefaultReverseResolver2: {
        address: "0x8948458626811dd0c23eb25cc74291247077cc51",
        startBlock: 7_035_086,
      },
      DefaultReverseResolver3: {
        address: "0x9dc60e7bd81ccc96774c55214ff389d42ae5e9ac",
        startBlock: 8_580_041,
      },
      DefaultPublicResolver3: {
        address: "0x8fade66b79cc9f707ab26799354482eb93a5b7dd",
        startBlock: 3_790_251,
      },
      DefaultPublicResolver4: {
        address: "0x8948458626811dd0c23eb25cc74291247077cc51",
        startBlock: 7_035_086,
      },
      DefaultPublicResolver5: {
        address: "0xe99638b40e4fff0129d56f03b55b6bbc4bbe49b5",
        startBlock: 8_580_001,
      },
      BaseReverseResolver: { address: "0xaf3b3f636be80b6709f5bd3a374d6ac0d0a7c7aa", startBlock: 8_580_004 },
      LineaReverseResolver: { address: "0x083da1dbc0f379ccda6ac81a934207c3d8a8a205", startBlock: 8_580_005 },
      OptimismReverseResolver: {
        address: "0xc9ae189772bd48e01410ab3be933637ee9d3aa5f",
        startBlock: 8_580_026,
      },
      ArbitrumReverseResolver: {
        address: "0x926f94d2adc77c86cb0050892097d49aadd02e8b",
        startBlock: 8_580_003,
      },
      ScrollReverseResolver: { address: "0x9fa59673e43f15bdb8722fdaf5c2107574b99062", startBlock: 8_580_040 },
    },
  },
  rrBase: {
    chainId: 84532,
    contracts: {
      L2ReverseRegistrar: { address: "0x00000beef055f7934784d6d81b6bc86665630dba", startBlock: 21_788_010 },
    },
  },
  rrOptimism: {
    chainId: 11155420,
    contracts: {
      L2ReverseRegistrar: { address: "0x00000beef055f7934784d6d81b6bc86665630dba", startBlock: 23_770_766 },
    },
  },
  rrArbitrum: {
    chainId: 421614,
    contracts: {
      L2ReverseRegistrar: { address: "0x00000beef055f7934784d6d81b6bc86665630dba", startBlock: 123_142_726 },
    },
  },
  rrScroll: {
    chainId: 534351,
    contracts: {
      L2ReverseRegistrar: { address: "0x00000beef055f7934784d6d81b6bc86665630dba", startBlock: 8_175_276 },
    },
  },
  rrLinea: {
    chainId: 59141,
    contracts: {
      L2ReverseRegistrar: { address: "0x00000beef055f7934784d6d81b6bc86665630dba", startBlock: 9_267_966 },
    },
  },
  seaport: {
    chainId: 11155111,
    contracts: {
      Seaport1_5: { address: "0x00000000000000adc04c56bf30ac9d3c0aaf14dc", startBlock: 3_365_529 },
      // Deployed in March 2024, a while after this block.
      Seaport1_6: { address: "0x0000000000000068f116a894984e2db1123eb395", startBlock: 5_000_000 },
    },
  },
};
