import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import type { Hex } from "viem";
import { projectRoot } from "../../../devnet/indexing-service.ts";

/** An entry as the registry's views return it; null where a call fails. */
export type TrueEntry = {
  raw: Hex;
  status: number | null;
  expiry: string | null;
  latestOwner: Hex | null;
  tokenId: Hex | null;
  resource: Hex | null;
  owner: Hex | null;
  resolver: Hex | null;
  subregistry: Hex | null;
  roles: Record<Hex, Hex>;
};

/** What calls said of the chain at a block. */
export type Snapshot = {
  block: number;
  timestamp: number;
  registries: Record<
    Hex,
    {
      hostile?: true;
      contract: boolean;
      parentClaim: { registry: Hex; label: string } | null;
      canonicalName: Hex | null;
      rootRoles: Record<Hex, Hex>;
      entries: TrueEntry[];
    }
  >;
  names: {
    name: string;
    labels: Hex[];
    node: Hex;
    registry: Hex | null;
    exists?: number | null;
    owner: Hex;
    resolver: { address: Hex; offset: number } | null;
    subregistry: Hex | null;
    /** Of made-up histories: no event tells what the chain would return. */
    isUnsure?: true;
    answers: Record<"addr" | "coin80000001" | "description" | "avatar" | "contenthash", Hex | null>;
  }[];
  authority: {
    label: string;
    raw: Hex;
    status: number;
    authority: "v2" | "reserved" | "v1" | "none";
    v1: { expires: string; holder: Hex | null; owner: Hex; resolver: Hex; graveyard?: true } | null;
  }[];
};

/** What calls said at twenty blocks. */
export function readTruth(): Snapshot[] {
  const path = join(projectRoot, "test/fixtures/ensv2-truth.json.br");
  return JSON.parse(brotliDecompressSync(readFileSync(path)).toString()).snapshots;
}
