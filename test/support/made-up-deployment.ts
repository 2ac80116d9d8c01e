import { type Hex, parseAbi } from "viem";
import { controller, type Deployment } from "../../src/deployments/deployment.ts";

const address = (byte: string): Hex => `0x${byte.repeat(20)}`;

/** Contracts of the made-up deployment, by what they do. */
export const madeUpAddresses = {
  registry: address("01"),
  registrar: address("02"),
  shop: address("03"),
  wrapper: address("04"),
};

/** Events of the made-up controller: argument names unlike any real one, a single price, a referrer. */
export const shopAbi = parseAbi([
  "event Sold(bytes32 indexed hash, string title, uint256 fee, uint256 surcharge, bytes32 referrer)",
  "event Prolonged(bytes32 indexed hash, string title, uint256 fee)",
]);

/** A layer-two deployment that does not exist: names under madeup.eth on chain 31337. */
export const madeUp: Deployment<"madeup"> = {
  plugin: "madeup",
  datasources: ["madeup"],
  managedName: "madeup.eth",
  contracts: {
    Registry: { role: "registry", generation: "only" },
    Resolver: { role: "resolver" },
    BaseRegistrar: { role: "baseRegistrar" },
    Shop: controller(shopAbi, {
      Sold: ({ hash: labelhash, title: label, fee, surcharge, referrer }) => ({
        label,
        labelhash,
        price: { baseCost: fee, premium: surcharge },
        encodedReferrer: referrer,
      }),
      Prolonged: ({ hash: labelhash, title: label, fee }) => ({
        label,
        labelhash,
        price: { baseCost: fee, premium: 0n },
      }),
    }),
    NameWrapper: { role: "nameWrapper" },
  },
  namespaces: {
    mainnet: {
      madeup: {
        chainId: 31337,
        contracts: {
          Registry: { address: madeUpAddresses.registry, startBlock: 5 },
          Resolver: { startBlock: 5 },
          BaseRegistrar: { address: madeUpAddresses.registrar, startBlock: 5 },
          Shop: { address: madeUpAddresses.shop, startBlock: 6 },
          NameWrapper: { address: madeUpAddresses.wrapper, startBlock: 5 },
        },
      },
    },
  },
};
