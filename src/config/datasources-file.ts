import type { Hex } from "viem";
import { z } from "zod/v4";
import type { ContractSource, Datasource, Deployment, Namespace } from "../deployments/deployment.ts";
import { deployments } from "../deployments/deployments.ts";
import { contractGroups } from "../deployments/namespaces.ts";
import { zeroAddress } from "../ens/nodes.ts";

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

function faultsOf(error: z.ZodError): string {
  return error.issues
    .map((issue) => {
      const reason = issue.code === "invalid_key" ? issue.issues[0]?.message : undefined;
      return `${issue.path.join(".") || "the file"}: ${reason ?? issue.message}`;
    })
    .join("; ");
}
