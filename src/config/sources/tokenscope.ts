import { seaportAbi } from "../../../abis/seaport.ts";
import { erc721TransferAbi, erc1155TransferAbi } from "../../../abis/token-transfers.ts";
import { entryOf } from "../contract-entry.ts";
import type { Config } from "../environment.ts";

/** Contract entries of the plugin `tokenscope`: the contracts whose tokens are names, and the marketplace of the root chain. */
export function tokenscopeSources(config: Config) {
  const root = entryOf(config, "ensroot");
  const base = entryOf(config, "basenames");
  const linea = entryOf(config, "lineanames");
  const optimismToken = entryOf(config, "threednsOptimism");
  const baseToken = entryOf(config, "threednsBase");
  const seaport = entryOf(config, "seaport");
  return {
    "tokenscope/ensroot/BaseRegistrar": root("BaseRegistrar", erc721TransferAbi),
    "tokenscope/basenames/BaseRegistrar": base("BaseRegistrar", erc721TransferAbi),
    "tokenscope/lineanames/BaseRegistrar": linea("BaseRegistrar", erc721TransferAbi),
    "tokenscope/ensroot/NameWrapper": root("NameWrapper", erc1155TransferAbi),
    "tokenscope/lineanames/NameWrapper": linea("NameWrapper", erc1155TransferAbi),
    "tokenscope/threednsOptimism/ThreeDNSToken": optimismToken("ThreeDNSToken", erc1155TransferAbi),
    "tokenscope/threednsBase/ThreeDNSToken": baseToken("ThreeDNSToken", erc1155TransferAbi),
    "tokenscope/seaport/Seaport1_5": seaport("Seaport1_5", seaportAbi),
    "tokenscope/seaport/Seaport1_6": seaport("Seaport1_6", seaportAbi),
  };
}
