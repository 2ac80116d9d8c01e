import type { Hex } from "viem";
import { v2ChainId, v2DatasourcesFile, v2Environment, v2Folder } from "../../../devnet/recorded-chains.ts";
import { type Recording, readRecording } from "../../../devnet/recording.ts";
import { registerEnsv2 } from "../../../src/plugins/ensv2.ts";
import { registerProtocolAcceleration } from "../../../src/plugins/protocol-acceleration.ts";
import { registerRegistrars } from "../../../src/plugins/registrars.ts";
import { registerSubgraph } from "../../../src/plugins/subgraph.ts";
import { registerTokenscope } from "../../../src/plugins/tokenscope.ts";
import { createRecordedIndex } from "./recorded-index.ts";

/** An index of the recorded chain, or of another with these contracts, over a store in memory; nothing is played yet. */
export function createV2Index(
  chain: Pick<Recording, "chainId" | "blocks" | "receipts"> = readRecording(v2Folder),
  addresses?: Readonly<Record<string, Hex>>,
) {
  return createRecordedIndex(chain, {
    environment: {
      ...v2Environment,
      LABELS_URL: "file:labels.sqlite",
      [`RPC_URL_${v2ChainId}`]: "http://localhost",
    },
    datasources: v2DatasourcesFile(addresses),
    register: ({ datasources }, events, logs) => {
      registerSubgraph(events, datasources);
      registerEnsv2(logs, datasources);
      registerProtocolAcceleration(events, datasources);
      registerRegistrars(events, datasources, logs);
      registerTokenscope(events, datasources);
    },
  });
}
