import { type Hex, namehash, parseAbi, toHex } from "viem";
import type { Config } from "../../src/config/environment.ts";
import type { Role } from "../../src/deployments/deployment.ts";
import { deployedContracts, findManagedName } from "../../src/deployments/namespaces.ts";
import { isParentCannotControlBurned } from "../../src/ens/registrations.ts";
import type { Statement } from "../../src/ponder/sql-client.ts";
import { wrapperExpiry } from "../../src/read/names/v2-walk.ts";
import { createRandom } from "../samples.ts";

// What `npm run verify` asks the contracts about sampled rows. This folder compares the index with the chain, through
// calls or storage proofs; it writes nothing.

// Values of the index that a contract can confirm, the calls for it, and the rules of contracts that hide values.

/** Functions of the contracts. */
export const reads = parseAbi([
  "function owner(bytes32 node) view returns (address)",
  "function resolver(bytes32 node) view returns (address)",
  "function ttl(bytes32 node) view returns (uint64)",
  "function nameExpires(uint256 id) view returns (uint256)",
  "function ownerOf(uint256 id) view returns (address)",
  "function getData(uint256 id) view returns (address owner, uint32 fuses, uint64 expiry)",
  "function addr(bytes32 node) view returns (address)",
  "function text(bytes32 node, string key) view returns (string)",
  "function contenthash(bytes32 node) view returns (bytes)",
]);
/** A value: of a function, or of an entry of ENSv2, which proofs alone compare. */
type Field = (typeof reads)[number]["name"] | "tokenId" | "expiry" | "subregistry";

const zero = `0x${"0".repeat(40)}` as const;
type Row = Record<string, unknown>;

/** A value of the index, and the call that returns the chain's. */
export type Question = {
  chainId: number;
  to: Hex;
  field: Field;
  args: readonly unknown[];
  row: string;
  ours: string;
  /** The chain's value in the form of the index; undefined if the two cannot be compared. */
  asOurs?: (theirs: string, blockTime: number) => string | undefined;
};

/** What to compare: random rows of each kind, and names; `proofs` adds what proofs alone can compare. */
export type Asked = { samples: number; seed: number; names: readonly string[]; proofs?: boolean };

/**
 * A kind of row: its table, the column with its node, the one to sort by if another, further expressions to select, and
 * its questions.
 */
type Kind = {
  table: string;
  column: string;
  sortedBy?: string;
  more: string;
  where?: string;
  about(row: Row, config: Config): Question[];
};

const formatText = (value: unknown) => (value === null || value === undefined ? "" : String(value));
const formatHex = (value: unknown) => (value === null || value === undefined ? zero : String(value)) as Hex;

const listContracts = <R extends Role>({ datasources }: Config, role: R) =>
  deployedContracts(datasources, [role]);

const selectFromDomain = (columns: string) => `(SELECT ${columns} FROM domain WHERE domain.id = t.domain_id)`;

function listKinds(config: Config): Kind[] {
  const chainOf = config.isSubgraphCompatible ? `${config.rootChainId}` : `split_part(e.id, '-', 1)::int`;
  const named = {
    column: "domain_id",
    more: `${selectFromDomain("array[domain.labelhash, domain.parent_id, domain.name, domain.chain_id::text]")} AS names`,
  };
  const resolvers = [...collectResolvers(config).keys()].map((key) => `'${key.split(":")[1]}'`);
  return [
    {
      ...{ table: "domain", column: "id", about: askRegistry },
      // Chains of the registries that set the node's owner.
      more: `(SELECT array_agg(DISTINCT ${chainOf}) FROM domain_event e WHERE e.domain_id = t.id AND e.type IN ('NewOwner', 'Transfer')) AS chains`,
    },
    { ...named, table: "registration", about: askRegistrar },
    {
      ...{ ...named, table: "wrapped_domain", about: askWrapper },
      more: `${named.more}, ${wrapperExpiry("t")} AS expiry`,
    },
    {
      ...{ table: "resolver", column: "domain_id", about: askResolver },
      where: resolvers.length === 0 ? "false" : `address IN (${resolvers})`,
      more: `(SELECT array_agg(jsonb_build_array(k, (SELECT e.value FROM resolver_event e WHERE e.resolver_id = t.id
        AND e.type = 'TextChanged' AND e.key = k ORDER BY e.block_number DESC, length(e.id) DESC, e.id DESC LIMIT 1)))
        FROM unnest(t.texts) k) AS values, ${selectFromDomain("domain.name")} AS name`,
    },
  ];
}

/** Entries of the registries in a fixed place; the code of others is up to those who deploy them. */
const listEntryKinds = ({ datasources, plugins }: Config): Kind[] =>
  deployedContracts(datasources, plugins.includes("ensv2") ? ["v2Registry"] : []).map(
    ({ chainId, address }) => ({
      ...{ table: "v2_entries", column: "node", sortedBy: "storage_id", more: "NULL", about: askEntry },
      where: `chain_id = ${chainId} AND registry = '${address}'`,
    }),
  );

// Ids and nodes are hashes: the next one from a random point is as good as random. Small tables are read whole.
async function readRows(
  run: Statement,
  { table, column, sortedBy = column, more, where = "true" }: Kind,
  { samples, names, random }: Asked & { random: () => number },
): Promise<Row[]> {
  const select = `SELECT t.*, ${more} FROM ${table} t WHERE ${where}`;
  const given = await run(`${select} AND ${column} = ANY($1::text[])`, [names.map((name) => namehash(name))]);
  const { rows } = await run(`${select} LIMIT $1`, [samples + 1]);
  if (rows.length <= samples) return [...given.rows, ...rows];
  const points = Array.from({ length: samples }, () => toHex(Math.floor(random() * 2 ** 48), { size: 6 }));
  const sampled = await run(
    `SELECT picked.* FROM unnest($1::text[]) point CROSS JOIN LATERAL
      (${select} AND ${sortedBy} COLLATE "C" >= point ORDER BY ${sortedBy} LIMIT 1) picked`,
    [points],
  );
  return [...given.rows, ...sampled.rows];
}

/** Questions about sampled and given rows, each once. `run` reads a snapshot of the index. */
export async function readQuestions(run: Statement, config: Config, asked: Asked): Promise<Question[]> {
  const random = createRandom(asked.seed);
  const questions: Question[] = [];
  for (const kind of [...listKinds(config), ...(asked.proofs ? listEntryKinds(config) : [])]) {
    const rows = await readRows(run, kind, { ...asked, random });
    const found = new Set(rows.map(({ id }) => id));
    const absent = asked.names.map((name) => ({ id: namehash(name), name, is_migrated: true }));
    if (kind.table === "domain") rows.push(...absent.filter(({ id }) => !found.has(id)));
    questions.push(...rows.flatMap((row) => kind.about(row, config)));
  }
  const key = ({ chainId, to, field, args }: Question) => `${chainId} ${to} ${field} ${args.join(" ")}`;
  return [...new Map(questions.map((one) => [key(one), one])).values()];
}

type About = Omit<Question, "field" | "ours">;

const buildQuestions = (about: About, values: { [F in Field]?: string | undefined }): Question[] =>
  Object.entries(values).flatMap(([field, ours]) =>
    ours === undefined ? [] : [{ ...about, field: field as Field, ours }],
  );

function askRegistry({ id, name, chains, is_migrated: isMigrated, ...row }: Row, config: Config): Question[] {
  const [chainId = config.rootChainId, ...others] = (chains as number[] | null) ?? [];
  const registries = listContracts(config, "registry").filter((one) => one.chainId === chainId);
  const wanted = isMigrated === false ? "old" : "new";
  const registry = registries.find(({ contract }) => contract.generation === wanted) ?? registries.at(-1);
  // The index keeps the last event's values if registries of several chains have the node.
  if (registry?.address === undefined || others.length > 0) return [];
  const { address: to } = registry;
  // The registry stores its own address for "no owner", and returns the zero address for it.
  const owner = formatHex(row["owner_id"]);
  // The registry's constructor sets the root's first owner without an event.
  const isFirstOwner = BigInt(formatText(id)) === 0n && chains === null;
  const about = { chainId, to, args: [id], row: `domain ${formatText(name) || formatText(id)}` };
  return buildQuestions(about, {
    owner: isFirstOwner ? undefined : owner === to ? zero : owner,
    resolver:
      chainId === config.rootChainId
        ? (formatText(row["resolver_id"]).match(/0x[0-9a-f]{40}/)?.[0] ?? zero)
        : undefined,
    ttl: formatText(row["ttl"] ?? 0),
  });
}

function askRegistrar(
  { names, expiry_date: expiry, registrant_id: holder }: Row,
  config: Config,
): Question[] {
  const [label, parent, name] = (names as (Hex | null)[] | null) ?? [];
  const registrar = listContracts(config, "baseRegistrar").find(
    ({ datasourceId }) => findManagedName(config.datasources, datasourceId).node === parent,
  );
  if (!label || registrar?.address === undefined) return [];
  const { chainId, address: to } = registrar;
  const about = { chainId, to, args: [BigInt(label)], row: `registration ${name ?? label}` };
  // `ownerOf` reverts for an expired name.
  const asOurs = (theirs: string, now: number) =>
    theirs === "reverted" && Number(expiry) <= now ? undefined : theirs;
  return [
    ...buildQuestions(about, { nameExpires: formatText(expiry) }),
    ...buildQuestions({ ...about, asOurs }, { ownerOf: formatHex(holder) }),
  ];
}

function askWrapper({ id, names, owner_id: owner, fuses: signed, expiry }: Row, config: Config): Question[] {
  const [, , name, home = null] = (names as (string | null)[] | null) ?? [];
  const fuses = Number(signed) >>> 0;
  // One table has the rows of all wrappers.
  const chainId = home === null ? config.rootChainId : Number(home);
  const to = listContracts(config, "nameWrapper").find((one) => one.chainId === chainId)?.address;
  if (to === undefined) return [];
  const ours = `${formatText(owner)}, ${fuses}, ${formatText(expiry)}`;
  // After the expiry the name wrapper returns no fuses, and no owner if the parent had given up control.
  const lapsed = `${isParentCannotControlBurned(fuses) ? zero : owner}, 0, ${formatText(expiry)}`;
  const asOurs = (theirs: string, now: number) => (Number(expiry) < now && theirs === lapsed ? ours : theirs);
  const about = {
    chainId,
    to,
    args: [BigInt(formatText(id))],
    row: `wrapped ${name ?? formatText(id)}`,
    asOurs,
  };
  return buildQuestions(about, { getData: ours });
}

function askEntry(row: Row): Question[] {
  const { owner, token_id: tokenId, resolver, subregistry } = row as Record<string, Hex>;
  const [chainId, name] = [Number(row["chain_id"]), Buffer.from(formatText(row["label"]).slice(2), "hex")];
  const about = {
    chainId,
    to: row["registry"] as Hex,
    args: [row["storage_id"], tokenId],
    row: `entry ${name}`,
  };
  return buildQuestions(about, { owner, tokenId, expiry: formatText(row["expiry"]), resolver, subregistry });
}

/**
 * Public resolvers, which store what they answer, by chain and address. The value is true for those with the default
 * address.
 */
function collectResolvers(config: Config): Map<string, boolean> {
  const all = listContracts(config, "staticResolver").filter(
    ({ contract, address }) => address && !contract.isExtended,
  );
  return new Map(
    all.map(({ chainId, address, contract }) => [`${chainId}:${address}`, contract.hasDefaultAddress]),
  );
}

function askResolver(row: Row, config: Config): Question[] {
  const chainId = config.isSubgraphCompatible
    ? config.rootChainId
    : Number(formatText(row["id"]).split("-")[0]);
  const to = row["address"] as Hex;
  const hasDefault = collectResolvers(config).get(`${chainId}:${to}`);
  if (hasDefault === undefined) return [];
  const node = row["domain_id"] as Hex;
  const about = { chainId, to, args: [node], row: `resolver ${formatText(row["name"]) || node}` };
  // Older resolvers lack some functions.
  const asOurs = (theirs: string) => (theirs === "reverted" && !row["content_hash"] ? undefined : theirs);
  const values = (row["values"] as [string, string | null][] | null) ?? [];
  return [
    ...buildQuestions(about, {
      addr: hasDefault && row["addr_id"] === null ? undefined : formatHex(row["addr_id"]),
    }),
    ...buildQuestions({ ...about, asOurs }, { contenthash: formatText(row["content_hash"] ?? "0x") }),
    // If the event has no value, only the chain has the text.
    ...values.flatMap(([key, ours]) =>
      buildQuestions({ ...about, args: [node, key] }, { text: ours ?? undefined }),
    ),
  ];
}
