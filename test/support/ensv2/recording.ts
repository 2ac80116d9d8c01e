import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { type Hex, hexToBytes } from "viem";
import { projectRoot } from "../../../devnet/indexing-service.ts";
import type { Recording } from "../../../devnet/recording.ts";
import { keccak256 } from "../../../src/ens/keccak.ts";
import { isNormalizedLabel } from "../../../src/ens/normalization.ts";

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

function labelOf(raw: Hex): string {
  const text = Buffer.from(raw.slice(2), "hex").toString("utf8");
  return isNormalizedLabel(text) ? text : `[${keccak256(hexToBytes(raw)).slice(2)}]`;
}

/** The name that the index gives to labels in hex: one that is not normalised as its hash. */
export const nameOf = (labels: readonly Hex[]): string => labels.map(labelOf).join(".");

const readFixture = (name: string) =>
  JSON.parse(brotliDecompressSync(readFileSync(join(projectRoot, "test/fixtures", name))).toString());

/** What calls said at twenty blocks. */
export const readTruth = (): Snapshot[] => readFixture("ensv2-truth.json.br").snapshots;

/** A chain of logs, and what the views of the contracts returned at some blocks. */
type History = { seed: number; snapshots: Snapshot[] } & Pick<Recording, "chainId" | "blocks" | "receipts">;

/**
 * Histories of 900 random calls in every order that the contracts allow, among logs of hostile contracts: what models
 * of the contracts, written from their source, emitted and returned. The models are in the commit fd9cfcbc,
 * test/support/ensv2/made-up-history.ts.
 */
export const readHistories = (): { contracts: Record<string, Hex>; histories: History[] } =>
  readFixture("ensv2-histories.json.br");
