import type { Hex } from "viem";
import { legacyControllerAbi, unwrappedControllerAbi, wrappedControllerAbi } from "../../abis/registrars.ts";
import { at, controller, type Deployment, datasource, named } from "./deployment.ts";

/** Datasource of the root chain's deployment. */
export const rootDatasource = "ensroot";

/** Name of the root chain's current registry in the root datasource. */
export const rootRegistry = "ENSv1Registry";

type Referred = { label: string; labelhash: Hex; referrer: Hex };

const readReferred = ({ label, labelhash, referrer }: Referred, baseCost: bigint, premium = 0n) => ({
  ...named({ name: label, label: labelhash }, baseCost, premium),
  encodedReferrer: referrer,
});

/** ENS on the root chain: .eth and everything else in its registry. */
export const ens: Deployment<"subgraph"> = {
  plugin: "subgraph",
  datasources: [rootDatasource],
  managedName: "eth",
  contracts: {
    ENSv1RegistryOld: { role: "registry", generation: "old" },
    [rootRegistry]: { role: "registry", generation: "new" },
    Resolver: { role: "resolver" },
    BaseRegistrar: { role: "baseRegistrar" },
    LegacyEthRegistrarController: controller(legacyControllerAbi, {
      NameRegistered: (args) => named(args, args.cost),
      NameRenewed: (args) => named(args, args.cost),
    }),
    WrappedEthRegistrarController: controller(wrappedControllerAbi, {
      NameRegistered: (args) => named(args, args.baseCost, args.premium),
      NameRenewed: (args) => ({ ...named(args, args.cost), renewedInWrapper: args.expires }),
    }),
    UnwrappedEthRegistrarController: controller(unwrappedControllerAbi, {
      NameRegistered: (args) => readReferred(args, args.baseCost, args.premium),
      NameRenewed: (args) => readReferred(args, args.cost),
    }),
    UniversalRegistrarRenewalWithReferrer: { role: "referrals" },
    NameWrapper: { role: "nameWrapper" },
    ArgentResolver: { role: "staticResolver", isExtended: false, hasDefaultAddress: false },
    LoopringResolver: { role: "staticResolver", isExtended: false, hasDefaultAddress: false },
  },
  namespaces: {
    mainnet: {
      ensroot: datasource(1, {
        ENSv1RegistryOld: at("0x314159265dd8dbb310642f98f50c066173c1259b", 3_327_417),
        ENSv1Registry: at("0x00000000000c2e074ec69a0dfb2997ba6c7d2e1e", 9_380_380),
        Resolver: { startBlock: 3_327_417 },
        BaseRegistrar: at("0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85", 9_380_410),
        LegacyEthRegistrarController: at("0x283af0b28c62c092c9727f1ee09c02ca627eb7f5", 9_380_471),
        WrappedEthRegistrarController: at("0x253553366da8546fc250f225fe3d25d0c782303b", 16_925_618),
        UnwrappedEthRegistrarController: at("0x59e16fccd424cc24e280be16e11bcd56fb0ce547", 22_764_821),
        UniversalRegistrarRenewalWithReferrer: at("0xf55575bde5953ee4272d5ce7cdd924c74d8fa81a", 23_784_217),
        NameWrapper: at("0xd4416b13d2b3a9abae7acd5d6c2bbdbe25686401", 16_925_608),
        UniversalResolver: at("0xeeeeeeee14d718c2b47d9923deab1335e144eeee", 23_085_558),
        ArgentResolver: at("0xda1756bb923af5d1a05e277cb1e54f1d0a127890", 7_173_574),
        LoopringResolver: at("0xf58d55f06bb92f083e78bb5063a2dd3544f9b6a3", 10_170_681),
      }),
    },
    sepolia: {
      ensroot: datasource(11155111, {
        ENSv1RegistryOld: at("0x94f523b8261b815b87effcf4d18e6abef18d6e4b", 3_702_721),
        ENSv1Registry: at("0x00000000000c2e074ec69a0dfb2997ba6c7d2e1e", 3_702_728),
        Resolver: { startBlock: 3_702_721 },
        BaseRegistrar: at("0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85", 3_702_731),
        LegacyEthRegistrarController: at("0x7e02892cfc2bfd53a75275451d73cf620e793fc0", 3_790_197),
        WrappedEthRegistrarController: at("0xfed6a969aaa60e4961fcd3ebf1a2e8913ac65b72", 3_790_244),
        UnwrappedEthRegistrarController: at("0xfb3ce5d01e0f33f41dbb39035db9745962f1f968", 8_579_988),
        UniversalRegistrarRenewalWithReferrer: at("0x7ab2947592c280542e680ba8f08a589009da8644", 9_447_519),
        NameWrapper: at("0x0635513f179d50a207757e05759cbd106d7dfce8", 3_790_153),
        UniversalResolver: at("0xeeeeeeee14d718c2b47d9923deab1335e144eeee", 8_928_790),
      }),
    },
    holesky: {
      ensroot: datasource(17000, {
        ENSv1RegistryOld: at("0x94f523b8261b815b87effcf4d18e6abef18d6e4b", 801_536),
        ENSv1Registry: at("0x00000000000c2e074ec69a0dfb2997ba6c7d2e1e", 801_613),
        Resolver: { startBlock: 801_536 },
        BaseRegistrar: at("0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85", 801_686),
        LegacyEthRegistrarController: at("0xf13fc748601fdc5afa255e9d9166eb43f603a903", 815_355),
        WrappedEthRegistrarController: at("0x179be112b24ad4cfc392ef8924dfa08c20ad8583", 815_359),
        UnwrappedEthRegistrarController: at("0xfce6ce4373cb6e7e470eaa55329638acd9dbd202", 4_027_261),
        NameWrapper: at("0xab50971078225d365994dc1edcb9b7fd72bb4862", 815_127),
        UniversalResolver: at("0xe3f3174fc2f2b17644cd2dbac3e47bc82ae0cf81", 8_515_717),
      }),
    },
    "ens-test-env": {
      ensroot: datasource(15658733, {
        ENSv1RegistryOld: at("0x0dcd1bf9a1b36ce34237eeafef220932846bcd82", 0),
        ENSv1Registry: at("0x9a676e781a523b5d0c0e43731313a708cb607508", 0),
        Resolver: { startBlock: 0 },
        BaseRegistrar: at("0xb7278a61aa25c888815afc32ad3cc52ff24fe575", 0),
        LegacyEthRegistrarController: at("0xbec49fa140acaa83533fb00a2bb19bddd0290f25", 0),
        WrappedEthRegistrarController: at("0x253553366da8546fc250f225fe3d25d0c782303b", 0),
        UnwrappedEthRegistrarController: at("0xfbc22278a96299d91d41c453234d97b4f5eb9b2d", 0),
        NameWrapper: at("0xfd471836031dc5108809d173a067e8486b9047a3", 0),
        UniversalResolver: at("0xdc11f7e700a4c898ae5caddb1082cffa76512add", 0),
      }),
    },
  },
};
