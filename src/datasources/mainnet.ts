import type { Namespace } from "./datasources.ts";

/** Ethereum mainnet with Base, Linea, Optimism, Arbitrum and Scroll. */
export const mainnet: Namespace = {
  ensroot: {
    chainId: 1,
    managedName: "eth",
    contracts: {
      ENSv1RegistryOld: { address: "0x314159265dd8dbb310642f98f50c066173c1259b", startBlock: 3_327_417 },
      ENSv1Registry: { address: "0x00000000000c2e074ec69a0dfb2997ba6c7d2e1e", startBlock: 9_380_380 },
      Resolver: { startBlock: 3_327_417 },
      BaseRegistrar: { address: "0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85", startBlock: 9_380_410 },
      LegacyEthRegistrarController: {
        address: "0x283af0b28c62c092c9727f1ee09c02ca627eb7f5",
        startBlock: 9_380_471,
      },
      WrappedEthRegistrarController: {
        address: "0x253553366da8546fc250f225fe3d25d0c782303b",
        startBlock: 16_925_618,
      },
      UnwrappedEthRegistrarController: {
        address: "0x59e16fccd424cc24e280be16e11bcd56fb0ce547",
        startBlock: 22_764_821,
      },
      UniversalRegistrarRenewalWithReferrer: {
        address: "0xf55575bde5953ee4272d5ce7cdd924c74d8fa81a",
        startBlock: 23_784_217,
      },
      NameWrapper: { address: "0xd4416b13d2b3a9abae7acd5d6c2bbdbe25686401", startBlock: 16_925_608 },
      UniversalResolver: { address: "0xeeeeeeee14d718c2b47d9923deab1335e144eeee", startBlock: 23_085_558 },
      BasenamesL1Resolver: { address: "0xde9049636f4a1dfe0a64d1bfe3155c0a14c54f31", startBlock: 20_420_641 },
      LineanamesL1Resolver: { address: "0xde16ee87b0c019499cebdde29c9f7686560f679a", startBlock: 20_410_692 },
      LineanamesL1Resolver2: {
        address: "0x1507ce9421232fdbd302f5ebe4590f8d77febbff",
        startBlock: 24_640_923,
      },
      ArgentResolver: { address: "0xda1756bb923af5d1a05e277cb1e54f1d0a127890", startBlock: 7_173_574 },
      LoopringResolver: { address: "0xf58d55f06bb92f083e78bb5063a2dd3544f9b6a3", startBlock: 10_170_681 },
    },
  },
  basenames: {
    chainId: 8453,
    managedName: "base.eth",
    contracts: {
      Registry: { address: "0xb94704422c2a1e396835a571837aa5ae53285a95", startBlock: 17_571_480 },
      Resolver: { startBlock: 17_571_480 },
      BaseRegistrar: { address: "0x03c4738ee98ae44591e1a4a4f3cab6641d95dd9a", startBlock: 17_571_486 },
      EARegistrarController: {
        address: "0xd3e6775ed9b7dc12b205c8e608dc3767b9e5efda",
        startBlock: 17_575_699,
      },
      RegistrarController: {
        address: "0x4ccb0bb02fcaba27e82a56646e81d8c5bc4119a5",
        startBlock: 18_619_035,
        endBlock: 35_936_564,
      },
      UpgradeableRegistrarController: {
        address: "0xa7d2607c6bd39ae9521e514026cbb078405ab322",
        startBlock: 35_286_620,
      },
      L2Resolver1: { address: "0xc6d566a56a1aff6508b41f6c90ff131615583bcd", startBlock: 17_575_714 },
      L2Resolver2: { address: "0x426fa03fb86e510d0dd9f70335cf102a98b10875", startBlock: 35_286_620 },
    },
  },
  lineanames: {
    chainId: 59144,
    managedName: "linea.eth",
    contracts: {
      Registry: { address: "0x50130b669b28c339991d8676fa73cf122a121267", startBlock: 6_682_888 },
      Resolver: { startBlock: 6_682_888 },
      BaseRegistrar: { address: "0x6e84390dcc5195414ec91a8c56a5c91021b95704", startBlock: 6_682_892 },
      EthRegistrarController: {
        address: "0xdb75db974b1f2bd3b5916d503036208064d18295",
        startBlock: 6_682_978,
      },
      NameWrapper: { address: "0xa53cca02f98d590819141aa85c891e2af713c223", startBlock: 6_682_956 },
      DefaultPublicResolver: { address: "0x86c5aed9f27837074612288610fb98ccc1733126", startBlock: 6_682_994 },
    },
  },
  threednsOptimism: {
    chainId: 10,
    contracts: {
      ThreeDNSToken: { address: "0xbb7b805b257d7c76ca9435b3ffe780355e4c4b17", startBlock: 110_393_959 },
      Resolver: { address: "0xf97aac6c8dbaebcb54ff166d79706e3af7a813c8", startBlock: 110_393_959 },
    },
  },
  threednsBase: {
    chainId: 8453,
    contracts: {
      ThreeDNSToken: { address: "0xbb7b805b257d7c76ca9435b3ffe780355e4c4b17", startBlock: 17_522_624 },
      Resolver: { address: "0xf97aac6c8dbaebcb54ff166d79706e3af7a813c8", startBlock: 17_522_624 },
    },
  },
  rrRoot: {
    chainId: 1,
    contracts: {
      DefaultReverseRegistrar: {
        address: "0x283f227c4bd38ece252c4ae7ece650b0e913f1f9",
        startBlock: 22_764_819,
      },
      DefaultReverseResolver1: {
        address: "0xa2c122be93b0074270ebee7f6b7292c7deb45047",
        startBlock: 9_380_501,
      },
      DefaultReverseResolver2: {
        address: "0x231b0ee14048e9dccd1d247744d114a4eb5e8e63",
        startBlock: 16_925_619,
      },
      DefaultReverseResolver3: {
        address: "0xa7d635c8de9a58a228aa69353a1699c7cc240dcf",
        startBlock: 22_764_871,
      },
      DefaultPublicResolver0: {
        address: "0x1da022710df5002339274aadee8d58218e9d6ab5",
        startBlock: 3_648_359,
      },
      DefaultPublicResolver1: {
        address: "0x5ffc014343cd971b7eb70732021e26c35b744cc4",
        startBlock: 3_733_668,
      },
      DefaultPublicResolver2: {
        address: "0x226159d592e2b063810a10ebf6dcbada94ed68b8",
        startBlock: 8_659_893,
      },
      DefaultPublicResolver3: {
        address: "0x4976fb03c32e5b8cfe2b6ccb31c09ba78ebaba41",
        startBlock: 9_412_610,
      },
      DefaultPublicResolver4: {
        address: "0x231b0ee14048e9dccd1d247744d114a4eb5e8e63",
        startBlock: 16_925_619,
      },
      DefaultPublicResolver5: {
        address: "0xf29100983e058b709f3d539b0c765937b804ac15",
        startBlock: 22_764_828,
      },
      BaseReverseResolver: { address: "0xc800dbc8ff9796e58efba2d7b35028ddd1997e5e", startBlock: 22_764_838 },
      LineaReverseResolver: { address: "0x0ce08a41bdb10420fb5cac7da8ca508ea313aef8", startBlock: 22_764_840 },
      OptimismReverseResolver: {
        address: "0xf9edb1a21867ac11b023ce34abad916d29abf107",
        startBlock: 22_764_854,
      },
      ArbitrumReverseResolver: {
        address: "0x4b9572c03aaa8b0efa4b4b0f0cc0f0992bedb898",
        startBlock: 22_764_837,
      },
      ScrollReverseResolver: {
        address: "0xc4842814ca523e481ca5aa85f719fed1e9cac614",
        startBlock: 22_921_284,
      },
    },
  },
  rrBase: {
    chainId: 8453,
    contracts: {
      L2ReverseRegistrar: { address: "0x0000000000d8e504002cc26e3ec46d81971c1664", startBlock: 31_808_582 },
    },
  },
  rrLinea: {
    chainId: 59144,
    contracts: {
      L2ReverseRegistrar: { address: "0x0000000000d8e504002cc26e3ec46d81971c1664", startBlock: 20_173_340 },
    },
  },
  rrOptimism: {
    chainId: 10,
    contracts: {
      L2ReverseRegistrar: { address: "0x0000000000d8e504002cc26e3ec46d81971c1664", startBlock: 137_403_854 },
    },
  },
  rrArbitrum: {
    chainId: 42161,
    contracts: {
      L2ReverseRegistrar: { address: "0x0000000000d8e504002cc26e3ec46d81971c1664", startBlock: 349_263_357 },
    },
  },
  rrScroll: {
    chainId: 534352,
    contracts: {
      L2ReverseRegistrar: { address: "0x0000000000d8e504002cc26e3ec46d81971c1664", startBlock: 16_604_272 },
    },
  },
  seaport: {
    chainId: 1,
    contracts: {
      Seaport1_5: { address: "0x00000000000000adc04c56bf30ac9d3c0aaf14dc", startBlock: 17_129_405 },
      // Deployed in March 2024, a while after this block.
      Seaport1_6: { address: "0x0000000000000068f116a894984e2db1123eb395", startBlock: 19_000_000 },
    },
  },
};
