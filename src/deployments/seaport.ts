import type { ContractGroup } from "./deployment.ts";

/** The marketplace of the root chain. Contracts named after a currency replace that currency's token on the chain. */
export const seaport: ContractGroup = {
  datasources: ["seaport"],
  contracts: { Seaport1_5: { role: "marketplace" }, Seaport1_6: { role: "marketplace" } },
  // Seaport 1.6 was deployed in March 2024, a while after the start blocks below.
  namespaces: {
    mainnet: {
      seaport: {
        chainId: 1,
        contracts: {
          Seaport1_5: { address: "0x00000000000000adc04c56bf30ac9d3c0aaf14dc", startBlock: 17_129_405 },
          Seaport1_6: { address: "0x0000000000000068f116a894984e2db1123eb395", startBlock: 19_000_000 },
        },
      },
    },
    sepolia: {
      seaport: {
        chainId: 11155111,
        contracts: {
          Seaport1_5: { address: "0x00000000000000adc04c56bf30ac9d3c0aaf14dc", startBlock: 3_365_529 },
          Seaport1_6: { address: "0x0000000000000068f116a894984e2db1123eb395", startBlock: 5_000_000 },
        },
      },
    },
  },
};
