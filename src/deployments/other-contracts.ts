import { at, type ContractGroup, datasource } from "./deployment.ts";

const plain = { role: "staticResolver", isExtended: false, hasDefaultAddress: false } as const;

// Each L2 has its reverse registrar at the same address.
const mainnetL2 = "0x0000000000d8e504002cc26e3ec46d81971c1664";
const sepoliaL2 = "0x00000beef055f7934784d6d81b6bc86665630dba";

/**
 * Names of accounts (ENSIP-19): each chain's reverse registrar, and the resolvers that come with them on the root
 * chain.
 */
export const reverseRegistrars: ContractGroup = {
  datasources: ["rrRoot", "rrBase", "rrLinea", "rrOptimism", "rrArbitrum", "rrScroll"],
  contracts: {
    DefaultReverseRegistrar: { role: "reverseRegistrar", scope: "default" },
    L2ReverseRegistrar: { role: "reverseRegistrar", scope: "chain" },
    DefaultReverseResolver3: { role: "reverseResolver" },
    BaseReverseResolver: { role: "reverseResolver" },
    LineaReverseResolver: { role: "reverseResolver" },
    OptimismReverseResolver: { role: "reverseResolver" },
    ArbitrumReverseResolver: { role: "reverseResolver" },
    ScrollReverseResolver: { role: "reverseResolver" },
    DefaultPublicResolver0: plain,
    DefaultPublicResolver1: plain,
    DefaultPublicResolver2: plain,
    DefaultPublicResolver3: plain,
    DefaultPublicResolver4: plain,
    DefaultPublicResolver5: { role: "staticResolver", isExtended: false, hasDefaultAddress: true },
  },
  namespaces: {
    mainnet: {
      rrRoot: datasource(1, {
        DefaultReverseRegistrar: at("0x283f227c4bd38ece252c4ae7ece650b0e913f1f9", 22_764_819),
        DefaultReverseResolver3: at("0xa7d635c8de9a58a228aa69353a1699c7cc240dcf", 22_764_871),
        DefaultPublicResolver0: at("0x1da022710df5002339274aadee8d58218e9d6ab5", 3_648_359),
        DefaultPublicResolver1: at("0x5ffc014343cd971b7eb70732021e26c35b744cc4", 3_733_668),
        DefaultPublicResolver2: at("0x226159d592e2b063810a10ebf6dcbada94ed68b8", 8_659_893),
        DefaultPublicResolver3: at("0x4976fb03c32e5b8cfe2b6ccb31c09ba78ebaba41", 9_412_610),
        DefaultPublicResolver4: at("0x231b0ee14048e9dccd1d247744d114a4eb5e8e63", 16_925_619),
        DefaultPublicResolver5: at("0xf29100983e058b709f3d539b0c765937b804ac15", 22_764_828),
        BaseReverseResolver: at("0xc800dbc8ff9796e58efba2d7b35028ddd1997e5e", 22_764_838),
        LineaReverseResolver: at("0x0ce08a41bdb10420fb5cac7da8ca508ea313aef8", 22_764_840),
        OptimismReverseResolver: at("0xf9edb1a21867ac11b023ce34abad916d29abf107", 22_764_854),
        ArbitrumReverseResolver: at("0x4b9572c03aaa8b0efa4b4b0f0cc0f0992bedb898", 22_764_837),
        ScrollReverseResolver: at("0xc4842814ca523e481ca5aa85f719fed1e9cac614", 22_921_284),
      }),
      rrBase: datasource(8453, { L2ReverseRegistrar: at(mainnetL2, 31_808_582) }),
      rrLinea: datasource(59144, { L2ReverseRegistrar: at(mainnetL2, 20_173_340) }),
      rrOptimism: datasource(10, { L2ReverseRegistrar: at(mainnetL2, 137_403_854) }),
      rrArbitrum: datasource(42161, { L2ReverseRegistrar: at(mainnetL2, 349_263_357) }),
      rrScroll: datasource(534352, { L2ReverseRegistrar: at(mainnetL2, 16_604_272) }),
    },
    sepolia: {
      rrRoot: datasource(11155111, {
        DefaultReverseRegistrar: at("0x4f382928805ba0e23b30cfb75fc9e848e82dfd47", 8_579_966),
        DefaultReverseResolver3: at("0x9dc60e7bd81ccc96774c55214ff389d42ae5e9ac", 8_580_041),
        DefaultPublicResolver3: at("0x8fade66b79cc9f707ab26799354482eb93a5b7dd", 3_790_251),
        DefaultPublicResolver4: at("0x8948458626811dd0c23eb25cc74291247077cc51", 7_035_086),
        DefaultPublicResolver5: at("0xe99638b40e4fff0129d56f03b55b6bbc4bbe49b5", 8_580_001),
        BaseReverseResolver: at("0xaf3b3f636be80b6709f5bd3a374d6ac0d0a7c7aa", 8_580_004),
        LineaReverseResolver: at("0x083da1dbc0f379ccda6ac81a934207c3d8a8a205", 8_580_005),
        OptimismReverseResolver: at("0xc9ae189772bd48e01410ab3be933637ee9d3aa5f", 8_580_026),
        ArbitrumReverseResolver: at("0x926f94d2adc77c86cb0050892097d49aadd02e8b", 8_580_003),
        ScrollReverseResolver: at("0x9fa59673e43f15bdb8722fdaf5c2107574b99062", 8_580_040),
      }),
      rrBase: datasource(84532, { L2ReverseRegistrar: at(sepoliaL2, 21_788_010) }),
      rrLinea: datasource(59141, { L2ReverseRegistrar: at(sepoliaL2, 9_267_966) }),
      rrOptimism: datasource(11155420, { L2ReverseRegistrar: at(sepoliaL2, 23_770_766) }),
      rrArbitrum: datasource(421614, { L2ReverseRegistrar: at(sepoliaL2, 123_142_726) }),
      rrScroll: datasource(534351, { L2ReverseRegistrar: at(sepoliaL2, 8_175_276) }),
    },
    "ens-test-env": {
      rrRoot: datasource(15658733, {
        DefaultReverseRegistrar: at("0x8f86403a4de0bb5791fa46b8e795c547942fe4cf", 0),
        DefaultReverseResolver3: at("0x5eb3bc0a489c5a8288765d2336659ebca68fcd00", 0),
        DefaultPublicResolver4: at("0x367761085bf3c12e5da2df99ac6e1a824612b8fb", 0),
        DefaultPublicResolver5: at("0x4c2f7092c2ae51d986befee378e50bd4db99c901", 0),
      }),
    },
  },
};

/** The marketplace of the root chain. Contracts named after a currency add tokens of that currency. */
export const seaport: ContractGroup = {
  datasources: ["seaport"],
  contracts: { Seaport1_5: { role: "marketplace" }, Seaport1_6: { role: "marketplace" } },
  // Seaport 1.6 was deployed in March 2024, after the start blocks below.
  namespaces: {
    mainnet: {
      seaport: datasource(1, {
        Seaport1_5: at("0x00000000000000adc04c56bf30ac9d3c0aaf14dc", 17_129_405),
        Seaport1_6: at("0x0000000000000068f116a894984e2db1123eb395", 19_000_000),
      }),
    },
    sepolia: {
      seaport: datasource(11155111, {
        Seaport1_5: at("0x00000000000000adc04c56bf30ac9d3c0aaf14dc", 3_365_529),
        Seaport1_6: at("0x0000000000000068f116a894984e2db1123eb395", 5_000_000),
      }),
    },
  },
};
