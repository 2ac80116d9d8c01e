import { type Hex, namehash } from "viem";
import type { Deployment, ManagedName } from "./deployment.ts";

/** Datasources of contract sets: the one in use, and one that it replaced, if both are wanted. */
export const ensv2Datasources = ["ensv2", "ensv2Former"] as const;

/** The name whose subnames both generations register. */
export const ethName: ManagedName = { name: "eth", node: namehash("eth") };

/**
 * ENSv2, on the root chain. A set of contracts is replaced as a whole. Contracts without a role are known by their
 * name.
 */
export const ensv2: Deployment<"ensv2"> = {
  plugin: "ensv2",
  datasources: ensv2Datasources,
  required: ["ensv2"],
  contracts: {
    RootRegistry: { role: "v2Registry", isRoot: true },
    ETHRegistry: { role: "v2Registry", isRoot: false },
    VerifiableFactory: { role: "v2Factory" },
    ETHRegistrar: { role: "v2Registrar", isOfV1: false },
    ETHRenewerV1: { role: "v2Registrar", isOfV1: true },
    LabelStore: { role: "v2LabelStore" },
    StandaloneHCAFactory: { role: "v2AccountFactory" },
  },
  namespaces: {
    // Deployed on 2026-10-01.
    "sepolia-v2": {
      ensv2: {
        chainId: 11155111,
        contracts: since(11_820_291, {
          RootRegistry: "0xb458d6a3a77919449d03e7a6903c26827c1ec43f",
          ETHRegistry: "0xd4ebcbbdf463c9c45784603db0ddd499bc44a8b4",
          ETHRegistrar: "0xf633e7fc17e2bbe0d0965d18ec1821dcb754a3d3",
          ETHRenewerV1: "0xf2ece44980778966b8a0fccb3a9e339440f6e045",
          VerifiableFactory: "0xda70306c98e97ece36f997a21368e53298572991",
          LabelStore: "0xed8246ff02203a4d4cb262bd78beaa7408a57cae",
          StandaloneHCAFactory: "0x6bad0176236e97b346b5dd13bcc8325b931ee8ab",
          PermissionedResolverImpl: "0x115eb53f0c60696633855f90b138178fb40b2b2c",
          UserRegistryImpl: "0x9bd8a88719068d09ecee662f36c0e3856708366a",
          WrapperRegistryImpl: "0xbe768b63e5fbbfbb0ae97e9064e0002df8001880",
          PublicResolverV2: "0xdc4a563d00f5c3012b699794eb9e13a561be386f",
          UniversalResolverV2: "0x24e1d8e068620b647ca097f961a61055f4f42d72",
          ENSV1Resolver: "0x322b7581ca210a69c6d0e0d7c88a7688d2789cb0",
          UnlockedMigrationController: "0x2a35b94df22cc7354570be2284655e2cdc0e64a2",
          LockedMigrationController: "0x6029a063d69b09d23c52a754a90e4fe43adac3a8",
          Graveyard: "0xb58a90a39d13cce1d0e192b5da5c47640855b04d",
          USDC: "0x240b0316df57887dbbe58b586508b19e633a14aa",
          DAI: "0xf6fac8a58a0be13b9197f27c41b73162fe32572b",
        }),
      },
    },
  },
};

function since(startBlock: number, addresses: Record<string, Hex>) {
  const sources = Object.entries(addresses).map(([name, address]) => [name, { address, startBlock }]);
  return Object.fromEntries(sources);
}
