import type { Hex } from "viem";
import { z } from "zod/v4";
import {
  type ContractSource,
  type Datasource,
  type Namespace,
  namespaceIds,
} from "../deployments/deployment.ts";
import { contractGroups, namespaces, withManagedName } from "../deployments/namespaces.ts";
import { zeroAddress } from "../ens/ids.ts";
import { findNearest } from "../log/nearest.ts";

const blockNumber = z.int().min(0);

const contractPatch = z.object({
  address: z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/, "must be an address: 0x and 40 hex digits")
    .nullable()
    .optional(),
  startBlock: blockNumber.optional(),
  endBlock: blockNumber.nullable().optional(),
});

const datasourcePatch = z.object({
  managedName: z.string().min(1).optional(),
  contracts: z.record(z.string(), contractPatch),
});

// namespace -> datasource -> chain id -> contracts; keys with a leading underscore are comments.
const datasourcesFile = z.record(
  z.string(),
  z.record(z.string(), z.record(z.string().regex(/^[1-9]\d*$/, "must be a chain id"), datasourcePatch)),
);

/**
 * The namespace's table with a datasources file merged over it. A datasource on another chain replaces the table's. A
 * contract whose address is zero or null is not deployed; for resolvers, null leaves the table's address. Throws an
 * Error that lists every fault.
 */
export function applyDatasourcesFile(namespaceId: string, table: Namespace, text: string): Namespace {
  const parsed = datasourcesFile.safeParse(withoutComments(JSON.parse(text)));
  if (!parsed.success) throw new Error(describeFaults(parsed.error));
  const result: Namespace = { ...table };
  const patches = parsed.data[namespaceId] ?? {};
  const misspelt = [
    ...Object.keys(parsed.data).flatMap((id) => listMisspellings("namespace", id, namespaceIds)),
    ...listNameFaults(patches),
  ];
  if (misspelt.length > 0) throw new Error(misspelt.join("; "));
  for (const [id, chains] of Object.entries(patches)) {
    const [entry, ...others] = Object.entries(chains);
    if (entry === undefined || others.length > 0)
      throw new Error(`${namespaceId}.${id} must name exactly one chain`);
    const [chainId, patch] = entry;
    result[id] = patchDatasource(id, Number(chainId), table[id], patch);
  }
  return result;
}

/** Names that a datasources file may use: contracts by datasource, as in docs/datasources.md. */
export function knownNames(): Map<string, string[]> {
  return new Map(
    contractGroups.flatMap(({ datasources, contracts }) =>
      datasources.map((id) => {
        const tables = Object.values(namespaces).map((table) => table[id]?.contracts ?? {});
        return [id, [...new Set([contracts, ...tables].flatMap((names) => Object.keys(names)))]] as const;
      }),
    ),
  );
}

// A name that nobody reads would be ignored silently. Names that are no near misses may be for other programs, unless
// no other name is known.
function listNameFaults(patches: z.infer<typeof datasourcesFile>[string]): string[] {
  const known = knownNames();
  const faultsOf = (kind: string, given: string[], names: string[]) => {
    const near = given.flatMap((name) => listMisspellings(kind, name, names));
    const isForOthers = near.length > 0 || given.length === 0 || given.some((name) => names.includes(name));
    return isForOthers ? near : [`it names no known ${kind}; known are ${names.join(", ")}`];
  };
  const ofContracts = Object.entries(patches).flatMap(([id, chains]) => {
    const names = known.get(id);
    return Object.values(chains).flatMap(({ contracts }) =>
      names ? faultsOf(`contract of ${id}`, Object.keys(contracts).filter(isOfNames), names) : [],
    );
  });
  return [...faultsOf("datasource", Object.keys(patches), [...known.keys()]), ...ofContracts];
}

// The others are currencies of the marketplace: docs/compatibility.md.
const isOfNames = (contract: string) => !/^(USDC|DAI|WETH)$/.test(contract);

// Numbers may differ, and a large part of a name is near it: `Registry` of `ENSv1Registry`.
function listMisspellings(kind: string, name: string, known: readonly string[]): string[] {
  const unnumbered = (text: string) => text.replace(/\d/g, "");
  if (known.some((other) => unnumbered(other) === unnumbered(name))) return [];
  const isPart = (other: string) => name.length >= 6 && other.toLowerCase().includes(name.toLowerCase());
  const near = findNearest(name, known, 2) ?? known.find(isPart);
  return near === undefined ? [] : [`unknown ${kind} "${name}"; did you mean "${near}"?`];
}

function patchDatasource(
  id: string,
  chainId: number,
  before: Datasource | undefined,
  patch: z.infer<typeof datasourcePatch>,
): Datasource {
  const contracts: Record<string, ContractSource> =
    before?.chainId === chainId ? { ...before.contracts } : {};
  const group = contractGroups.find(({ datasources }) => datasources.includes(id));
  for (const [name, given] of Object.entries(patch.contracts)) {
    const mayBeAny = group?.contracts[name]?.role === "resolver";
    if (given.address === zeroAddress || (given.address === null && !mayBeAny)) {
      delete contracts[name];
      continue;
    }
    const former = contracts[name];
    const address = (given.address?.toLowerCase() as Hex | undefined) ?? former?.address;
    const endBlock = given.endBlock === null ? undefined : (given.endBlock ?? former?.endBlock);
    if (address === undefined && !mayBeAny) throw new Error(`${id}.${chainId}.${name} has no address`);
    contracts[name] = {
      ...(address === undefined ? {} : { address }),
      startBlock: given.startBlock ?? former?.startBlock ?? 0,
      ...(endBlock === undefined ? {} : { endBlock }),
    };
  }
  const managedName = patch.managedName ?? before?.managedName;
  return withManagedName(id, { chainId, ...(managedName === undefined ? {} : { managedName }), contracts });
}

function withoutComments(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => !key.startsWith("_")));
}

function describeFaults(error: z.ZodError): string {
  const reasonOf = (issue: z.core.$ZodIssue) =>
    (issue.code === "invalid_key" ? issue.issues[0]?.message : undefined) ?? issue.message;
  const faults = [...Map.groupBy(error.issues, reasonOf)].map(([reason, issues]) => {
    return `${issues.map(({ path }) => path.join(".") || "the file").join(", ")}: ${reason}`;
  });
  return `${faults.join("; ")}. See docs/datasources.md`;
}
