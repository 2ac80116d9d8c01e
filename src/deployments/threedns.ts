import { at, type Deployment, datasource } from "./deployment.ts";

/** The names of 3DNS (.box and others), on Optimism and on Base: one token contract and one resolver on each. */
export const threedns: Deployment<"threedns"> = {
  plugin: "threedns",
  datasources: ["threednsOptimism", "threednsBase"],
  contracts: {
    ThreeDNSToken: { role: "threednsToken" },
    Resolver: { role: "resolver", static: { isExtended: false, hasDefaultAddress: false } },
  },
  namespaces: {
    mainnet: {
      threednsOptimism: datasource(10, {
        ThreeDNSToken: at("0xbb7b805b257d7c76ca9435b3ffe780355e4c4b17", 110_393_959),
        Resolver: at("0xf97aac6c8dbaebcb54ff166d79706e3af7a813c8", 110_393_959),
      }),
      threednsBase: datasource(8453, {
        ThreeDNSToken: at("0xbb7b805b257d7c76ca9435b3ffe780355e4c4b17", 17_522_624),
        Resolver: at("0xf97aac6c8dbaebcb54ff166d79706e3af7a813c8", 17_522_624),
      }),
    },
  },
};
