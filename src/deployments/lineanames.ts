import { lineaControllerAbi } from "../../abis/registrars.ts";
import { at, controller, type Deployment, datasource, named } from "./deployment.ts";

/** The names under linea.eth, on Linea. */
export const lineanames: Deployment<"lineanames"> = {
  plugin: "lineanames",
  datasources: ["lineanames"],
  managedName: "linea.eth",
  contracts: {
    Registry: { role: "registry", generation: "only" },
    Resolver: { role: "resolver" },
    BaseRegistrar: { role: "baseRegistrar" },
    EthRegistrarController: controller(lineaControllerAbi, {
      NameRegistered: (args) => named(args, args.baseCost, args.premium),
      NameRenewed: (args) => ({ ...named(args, args.cost), renewedInWrapper: args.expires }),
      OwnerNameRegistered: (args) => named(args),
      PohNameRegistered: (args) => named(args),
    }),
    NameWrapper: { role: "nameWrapper" },
    DefaultPublicResolver: { role: "staticResolver", isExtended: false, hasDefaultAddress: false },
  },
  namespaces: {
    mainnet: {
      lineanames: datasource(59144, {
        Registry: at("0x50130b669b28c339991d8676fa73cf122a121267", 6_682_888),
        Resolver: { startBlock: 6_682_888 },
        BaseRegistrar: at("0x6e84390dcc5195414ec91a8c56a5c91021b95704", 6_682_892),
        EthRegistrarController: at("0xdb75db974b1f2bd3b5916d503036208064d18295", 6_682_978),
        NameWrapper: at("0xa53cca02f98d590819141aa85c891e2af713c223", 6_682_956),
        DefaultPublicResolver: at("0x86c5aed9f27837074612288610fb98ccc1733126", 6_682_994),
      }),
    },
    sepolia: {
      lineanames: {
        managedName: "linea-sepolia.eth",
        ...datasource(59141, {
          Registry: at("0x5b2636f0f2137b4ae722c01dd5122d7d3e9541f7", 2_395_094),
          Resolver: { startBlock: 2_395_094 },
          BaseRegistrar: at("0x83475a84c0ea834f06c8e636a62631e7d2e07a44", 2_395_099),
          EthRegistrarController: at("0x0f81e3b3a32dfe1b8a08d3c0061d852337a09338", 2_395_231),
          NameWrapper: at("0xf127de9e039a789806fed4c6b1c0f3affea9425e", 2_395_202),
        }),
      },
    },
  },
  // The first was replaced in 2026; names may still be set to it.
  bridges: {
    mainnet: {
      LineanamesL1Resolver: at("0xde16ee87b0c019499cebdde29c9f7686560f679a", 20_410_692),
      LineanamesL1Resolver2: at("0x1507ce9421232fdbd302f5ebe4590f8d77febbff", 24_640_923),
    },
    sepolia: {
      LineanamesL1Resolver: at("0xb4b2748f543265e7e0d471f5d1bda81da4e74624", 10_415_742),
    },
  },
};
