import type { Hex } from "viem";
import { basenamesControllerAbi } from "../../abis/registrars.ts";
import { at, controller, type Deployment, datasource } from "./deployment.ts";

// The argument `name` is the label and `label` its hash. No event carries a price: that is in a payment event without a
// name.
const named = ({ name, label }: { name: string; label: Hex }) => ({ label: name, labelhash: label });
const registrarController = controller(basenamesControllerAbi, { NameRegistered: named, NameRenewed: named });

/** The names under base.eth, on Base. */
export const basenames: Deployment<"basenames"> = {
  plugin: "basenames",
  datasources: ["basenames"],
  managedName: "base.eth",
  contracts: {
    Registry: { role: "registry", generation: "only" },
    Resolver: { role: "resolver" },
    BaseRegistrar: { role: "baseRegistrar", registersWithRecords: true },
    EARegistrarController: { ...registrarController, read: { NameRegistered: named } },
    RegistrarController: registrarController,
    UpgradeableRegistrarController: registrarController,
    L2Resolver1: { role: "staticResolver", isExtended: true, hasDefaultAddress: false },
    L2Resolver2: { role: "staticResolver", isExtended: true, hasDefaultAddress: true },
  },
  namespaces: {
    mainnet: {
      basenames: datasource(8453, {
        Registry: at("0xb94704422c2a1e396835a571837aa5ae53285a95", 17_571_480),
        Resolver: { startBlock: 17_571_480 },
        BaseRegistrar: at("0x03c4738ee98ae44591e1a4a4f3cab6641d95dd9a", 17_571_486),
        EARegistrarController: at("0xd3e6775ed9b7dc12b205c8e608dc3767b9e5efda", 17_575_699),
        RegistrarController: at("0x4ccb0bb02fcaba27e82a56646e81d8c5bc4119a5", 18_619_035, 35_936_564),
        UpgradeableRegistrarController: at("0xa7d2607c6bd39ae9521e514026cbb078405ab322", 35_286_620),
        L2Resolver1: at("0xc6d566a56a1aff6508b41f6c90ff131615583bcd", 17_575_714),
        L2Resolver2: at("0x426fa03fb86e510d0dd9f70335cf102a98b10875", 35_286_620),
      }),
    },
    sepolia: {
      basenames: {
        managedName: "basetest.eth",
        ...datasource(84532, {
          Registry: at("0x1493b2567056c2181630115660963e13a8e32735", 13_012_458),
          Resolver: { startBlock: 13_012_458 },
          BaseRegistrar: at("0xa0c70ec36c010b55e3c434d6c6ebeec50c705794", 13_012_465),
          EARegistrarController: at("0x3a0e8c2a0a28f396a5e5b69edb2e630311f1517a", 13_041_164),
          RegistrarController: at("0x49ae3cc2e3aa768b1e5654f5d3c6002144a59581", 13_298_580),
          UpgradeableRegistrarController: at("0x82c858cdf64b3d893fe54962680edfddc37e94c8", 29_896_051),
        }),
      },
    },
  },
  bridges: {
    mainnet: {
      BasenamesL1Resolver: at("0xde9049636f4a1dfe0a64d1bfe3155c0a14c54f31", 20_420_641),
    },
    sepolia: {
      BasenamesL1Resolver: at("0x084d10c07efeecd9ffc73deb38ecb72f9eeb65ab", 6_501_252),
    },
  },
};
