import type { Hex } from "viem";
import { z } from "zod/v4";
import {
  type ContractSource,
  type Datasource,
  type Deployment,
  type Namespace,
  namespaceIds,
} from "../deployments/deployment.ts";
import { deployments } from "../deployments/deployments.ts";
import { contractGroups, namespaces } from "../deployments/namespaces.ts";
import { zeroAddress } from "../ens/ids.ts";
import { distanceOf } from "./nearest.ts";

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

type ContractPatch = z.infer<typeof contractPatch>;

/**
 * The namespace's table with the addresses and blocks of a datasources file merged over it. A datasource that the file
 * puts on another chain replaces the table's; a null or zero address of a contract means that it is not deployed, but
 * for resolvers that any address counts. Throws an Error that lists every fault of the file.
 */
export function applyDatasourcesFile(namespaceId: string, table: Namespace, text: string): Namespace {
  const parsed = datasourcesFile.safeParse(withoutComments(JSON.parse(text)));
  if (!parsed.success) throw new Error(faultsOf(parsed.error));
  const result: Namespace = { ...table };
  const misspelt = [
    ...Object.keys(parsed.data).flatMap((id) => misspelling("namespace", id, namespaceIds)),
    ...misspeltNames(parsed.data[namespaceId] ?? {}),
  ];
  if (misspelt.length > 0) throw new Error(misspelt.join("; "));
  for (const [id, chains] of Object.entries(parsed.data[namespaceId] ?? {})) {
    const entries = Object.entries(chains);
    const [entry] = entries;
    if (entry === undefined || entries.length > 1)
      throw new Error(`${namespaceId}.${id} must name exactly one chain`);
    const [chainId, patch] = entry;
    result[id] = patched(id, Number(chainId), table[id], patch);
  }
  return result;
}

type Patches = z.infer<typeof datasourcesFile>[string];

/** The names that a datasources file may use: contracts by datasource, as in docs/datasources.md. */
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

// A name that nobody reads would be ignored without a word. Others than near misses may be there for other programs, unless there
// is nothing else.
function misspeltNames(patches: Patches): string[] {
  const known = knownNames();
  const ids = [...known.keys()];
  const given = Object.entries(patches);
  const faults = given.flatMap(([id, chains]) => {
    const names = known.get(id);
    if (names === undefined) return misspelling("datasource", id, ids);
    return Object.values(chains).flatMap(({ contracts }) => {
      const others = Object.keys(contracts);
      const near = others.flatMap((name) => misspelling(`contract of ${id}`, name, names));
      if (
        near.length > 0 ||
        others.length === 0 ||
        others.some((name) => names.includes(name) || isCurrency(name))
      )
        return near;
      return [`it names no known contract of ${id}; known are ${names.join(", ")}`];
    });
  });
  if (given.length === 0 || faults.length > 0 || given.some(([id]) => known.has(id))) return faults;
  return [`it names no known datasource; known are ${ids.join(", ")}`];
}

function misspelling(kind: string, name: string, known: readonly string[]): string[] {
  if (known.includes(name)) return [];
  const near = known.find((other) => isNear(name, other)) ?? known.find((other) => isPartOf(name, other));
  return near === undefined ? [] : [`unknown ${kind} "${name}"; the nearest is "${near}"`];
}

// Of the marketplace: docs/compatibility.md.
const isCurrency = (name: string) => /^(USDC|DAI|WETH)$/.test(name);

/** Whether a name is a large part of another: `Registry` of `ENSv1Registry`. */
function isPartOf(part: string, name: string): boolean {
  return part.length >= 6 && name.toLowerCase().includes(part.toLowerCase());
}

/** Whether one text becomes the other by changing, adding or leaving out a letter or two; numbers may differ. */
function isNear(one: string, other: string): boolean {
  if (one.replace(/\d/g, "") === other.replace(/\d/g, "")) return false;
  if (one.toLowerCase() === other.toLowerCase()) return true;
  return Math.abs(one.length - other.length) <= 1 && one.length >= 5 && distanceOf(one, other) <= 2;
}

function patched(
  id: string,
  chainId: number,
  before: Datasource | undefined,
  patch: z.infer<typeof datasourcePatch>,
): Datasource {
  const contracts: Record<string, ContractSource> =
    before?.chainId === chainId ? { ...before.contracts } : {};
  for (const [name, contract] of Object.entries(patch.contracts)) {
    const isAnyAddress = mayBeAnyAddress(id, name) && !contract.address;
    if (!isAnyAddress && (contract.address === null || contract.address === zeroAddress)) {
      delete contracts[name];
      continue;
    }
    const patched = patchedContract(contracts[name], contract);
    if (patched.address === undefined && !mayBeAnyAddress(id, name))
      throw new Error(`${id}.${chainId}.${name} has no address`);
    contracts[name] = patched;
  }
  const managedName = patch.managedName ?? before?.managedName ?? usualManagedName(id);
  return { chainId, ...(managedName === undefined ? {} : { managedName }), contracts };
}

function mayBeAnyAddress(datasourceId: string, contract: string): boolean {
  const group = contractGroups.find(({ datasources }) => datasources.includes(datasourceId));
  return group?.contracts[contract]?.role === "resolver";
}

// For a deployment that the namespace's own table lacks.
function usualManagedName(datasourceId: string): string | undefined {
  const deployment = deployments.find(({ datasources }: Deployment) => datasources.includes(datasourceId));
  return deployment?.managedName;
}

function patchedContract(before: ContractSource | undefined, patch: ContractPatch): ContractSource {
  const address = (patch.address?.toLowerCase() as Hex | undefined) ?? before?.address;
  const endBlock = patch.endBlock === null ? undefined : (patch.endBlock ?? before?.endBlock);
  return {
    ...(address === undefined ? {} : { address }),
    startBlock: patch.startBlock ?? before?.startBlock ?? 0,
    ...(endBlock === undefined ? {} : { endBlock }),
  };
}

function withoutComments(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => !key.startsWith("_")));
}

const kinds: Readonly<Record<string, string>> = {
  record: "an object",
  object: "an object",
  string: "a text",
  number: "a number",
  int: "a whole number",
};

function faultsOf(error: z.ZodError): string {
  const reasonOf = (issue: z.core.$ZodIssue): string => {
    if (issue.code === "invalid_key") return issue.issues[0]?.message ?? issue.message;
    const kind = issue.code === "invalid_type" ? kinds[issue.expected] : undefined;
    return kind === undefined ? issue.message : `must be ${kind}`;
  };
  const placesOf = (issues: z.core.$ZodIssue[]) =>
    issues.map(({ path }) => path.join(".") || "the file").join(", ");
  const faults = [...Map.groupBy(error.issues, reasonOf)];
  return `${faults.map(([reason, issues]) => `${placesOf(issues)}: ${reason}`).join("; ")}. See docs/datasources.md`;
}
