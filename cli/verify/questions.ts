import { type Hex, namehash, parseAbi, toHex } from "viem";
import type { Config } from "../../src/config/environment.ts";
import { deployedContracts, managedNameOf } from "../../src/deployments/namespaces.ts";
import { isParentCannotControlBurned } from "../../src/ens/registrations.ts";
import type { Statement } from "../../src/ponder/sql-client.ts";
import { randomOf } from "../cache.ts";

// Which values of the index a contract can confirm, and by which call. Rules of contracts that hide values are here.

/** What is asked of the contracts. */
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
/** The events that set each value. */
export const events = {
  owner: ["Transfer(bytes32,address)", "NewOwner(bytes32,bytes32,address)"],
  resolver: ["NewResolver(bytes32,address)"],
  ttl: ["NewTTL(bytes32,uint64)"],
  nameExpires: ["NameRegistered(uint256,address,uint256)", "NameRenewed(uint256,uint256)"],
  ownerOf: ["Transfer(address,address,uint256)"],
  getData: [
    "NameWrapped(bytes32,bytes,address,uint32,uint64)",
    "FusesSet(bytes32,uint32)",
    "ExpiryExtended(bytes32,uint64)",
  ],
  addr: ["AddrChanged(bytes32,address)"],
  text: ["TextChanged(bytes32,string,string,string)", "TextChanged(bytes32,string,string)"],
  contenthash: ["ContenthashChanged(bytes32,bytes)"],
};
type Field = keyof typeof events;

const zero = `0x${"0".repeat(40)}` as const;
type Row = Record<string, unknown>;

/** A value of the index, and the call that returns the chain's. */
export type Question = {
  chainId: number;
  to: Hex;
  field: Field;
  args: readonly unknown[];
  /** The row, for people. */
  row: string;
  ours: string;
  /** Topics of its events behind the first. */
  topics: readonly (Hex | null)[];
  /** The chain's value as the index has it; undefined if the two cannot be compared. */
  asOurs?: (theirs: string, blockTime: number) => string | undefined;
};

/** The block of each chain at which index and chain are compared. */
export type Heads = ReadonlyMap<number, { number: number; timestamp: number }>;
/** What to compare: rows of each kind, names, and a block other than the last. */
export type Asked = { samples: number; seed: number; names: readonly string[]; block?: number | undefined };

// --- From rows to questions ---

// Ids and nodes are hashes: the next one behind a random point is as good as random. All rows where there are few.
async function rowsOf(
  run: Statement,
  { table, column, where, more = "" }: { table: string; column: string; where: string; more?: string },
  { samples, nodes, random }: { samples: number; nodes: readonly string[]; random: () => number },
): Promise<Row[]> {
  const given = await run(
    `SELECT t.* ${more} FROM ${table} t WHERE ${where} AND ${column} = ANY($1::text[])`,
    [nodes],
  );
  const few = `SELECT t.* ${more} FROM ${table} t WHERE ${where} LIMIT $1`;
  const { rows } = await run(few, [samples + 1]);
  if (rows.length <= samples) return [...given.rows, ...rows];
  const points = Array.from({ length: samples }, () => toHex(Math.floor(random() * 2 ** 48), { size: 6 }));
  const sampled = await run(
    `SELECT picked.* FROM unnest($1::text[]) point CROSS JOIN LATERAL
      (SELECT t.* ${more} FROM ${table} t WHERE ${where} AND ${column} COLLATE "C" >= point ORDER BY ${column} LIMIT 1) picked`,
    [points],
  );
  return [...given.rows, ...sampled.rows];
}

const text = (value: unknown) => (value === null || value === undefined ? "" : String(value));
const hexOf = (value: unknown) => (value === null || value === undefined ? zero : String(value)) as Hex;

/** The questions about sampled and given rows. `run` reads one moment of the index. */
export async function questionsOf(run: Statement, config: Config, asked: Asked): Promise<Question[]> {
  const nodes = asked.names.map((name) => namehash(name));
  const samples = { samples: asked.samples, nodes, random: randomOf(asked.seed) };
  const where = asked.block === undefined ? "true" : `change_block <= ${asked.block}`;
  const chainOf = config.isSubgraphCompatible ? `${config.rootChainId}` : `split_part(e.id, '-', 1)::int`;
  // The event that set the owner last says which chain's registry has the node.
  const owner = `, (SELECT array_agg(DISTINCT ${chainOf}) FROM domain_event e WHERE e.domain_id = t.id AND e.type IN ('NewOwner', 'Transfer')) AS chains`;
  const domains = await rowsOf(run, { table: "domain", column: "id", where, more: owner }, samples);
  const joined = {
    column: "domain_id",
    where,
    more: ", (SELECT array[d.labelhash, d.parent_id, d.name] FROM domain d WHERE d.id = t.domain_id) AS names",
  };
  const registrations = await rowsOf(run, { table: "registration", ...joined }, samples);
  const wrapped = await rowsOf(run, { table: "wrapped_domain", ...joined, where }, samples);
  const known = resolversOf(config);
  const list = [...known.keys()].map((key) => `'${key.split(":")[1]}'`);
  const latest = `, (SELECT array_agg(jsonb_build_array(k, (SELECT e.value FROM resolver_event e WHERE e.resolver_id = t.id
    AND e.type = 'TextChanged' AND e.key = k ORDER BY e.block_number DESC, length(e.id) DESC, e.id DESC LIMIT 1)))
    FROM unnest(t.texts) k) AS values, (SELECT d.name FROM domain d WHERE d.id = t.domain_id) AS name`;
  const resolvers =
    list.length === 0
      ? []
      : await rowsOf(
          run,
          {
            table: "resolver",
            column: "domain_id",
            where: `${where} AND address IN (${list})`,
            more: latest,
          },
          samples,
        );
  const found = new Set(domains.map(({ id }) => id));
  const missing = asked.names.flatMap((name, place) =>
    found.has(nodes[place]) ? [] : [{ id: nodes[place], name, is_migrated: true }],
  );
  return uniqueOf([
    ...[...domains, ...missing].flatMap((row) => ofRegistry(config, row)),
    ...registrations.flatMap((row) => ofRegistrar(config, row)),
    ...wrapped.flatMap((row) => ofWrapper(config, row)),
    ...resolvers.flatMap((row) => ofResolver(config, known, row)),
  ]);
}

function uniqueOf(questions: readonly Question[]): Question[] {
  const key = ({ chainId, to, field, args }: Question) => `${chainId} ${to} ${field} ${args.join(" ")}`;
  return [...new Map(questions.map((one) => [key(one), one])).values()];
}

function ofRegistry(config: Config, { id, name, chains, is_migrated: isMigrated, ...row }: Row): Question[] {
  const [chainId = config.rootChainId, ...others] = (chains as number[] | null) ?? [];
  const registries = deployedContracts(config.datasources, ["registry"]).filter(
    (one) => one.chainId === chainId,
  );
  const wanted = isMigrated === false ? "old" : "new";
  const registry = registries.find(({ contract }) => contract.generation === wanted) ?? registries.at(-1);
  // Several chains name such a node, and the index keeps the last that spoke.
  if (registry?.address === undefined || others.length > 0) return [];
  const about = {
    chainId,
    to: registry.address,
    args: [id],
    row: `domain ${text(name) || text(id)}`,
    topics: [id as Hex],
  };
  // The registry shows itself as nobody: so it stores that a name has no owner.
  const owner = hexOf(row["owner_id"]);
  const links = chainId === config.rootChainId;
  const resolver = (text(row["resolver_id"]).match(/0x[0-9a-f]{40}/)?.[0] ?? zero) as Hex;
  return [
    // The registry's constructor names the root's first owner without an event.
    ...(BigInt(text(id)) === 0n && chains === null
      ? []
      : [{ ...about, field: "owner" as const, ours: owner === registry.address ? zero : owner }]),
    ...(links ? [{ ...about, field: "resolver" as const, ours: resolver }] : []),
    { ...about, field: "ttl", ours: text(row["ttl"] ?? 0) },
  ];
}

function ofRegistrar(
  config: Config,
  { names, expiry_date: expiry, registrant_id: registrant }: Row,
): Question[] {
  const [labelhash, parent, name] = (names as (string | null)[] | null) ?? [];
  const registrar = deployedContracts(config.datasources, ["baseRegistrar"]).find(
    ({ datasourceId }) => managedNameOf(config.datasources, datasourceId).node === parent,
  );
  if (!labelhash || registrar?.address === undefined) return [];
  const about = {
    chainId: registrar.chainId,
    to: registrar.address,
    args: [BigInt(labelhash)],
    row: `registration ${name ?? labelhash}`,
  };
  // The registrar names no owner of a lapsed name.
  const living = (theirs: string, now: number) =>
    theirs === "reverted" && Number(expiry) <= now ? undefined : theirs;
  return [
    { ...about, field: "nameExpires", ours: text(expiry), topics: [labelhash as Hex] },
    {
      ...about,
      field: "ownerOf",
      ours: hexOf(registrant),
      topics: [null, null, labelhash as Hex],
      asOurs: living,
    },
  ];
}

function ofWrapper(
  config: Config,
  { id, names, owner_id: owner, fuses: signed, expiry_date: told, renewed_expiry_date: renewed }: Row,
): Question[] {
  const expiry = Number(renewed ?? 0) > Number(told) ? renewed : told;
  const [, , name] = (names as (string | null)[] | null) ?? [];
  const fuses = Number(signed) >>> 0;
  const [root, ...others] = deployedContracts(config.datasources, ["nameWrapper"]);
  if (root?.address === undefined) return [];
  // The rows of all wrappers are in one table: names that another one may hold are left out.
  const mayBeElsewhere = others.some(
    ({ group, datasourceId }) =>
      "plugin" in group &&
      config.plugins.some((plugin) => plugin === group.plugin) &&
      text(name).endsWith(`.${managedNameOf(config.datasources, datasourceId).name}`),
  );
  if (mayBeElsewhere) return [];
  // NameWrapper: after the expiry no fuses, and no owner if the parent had given up control.
  const asOurs = (theirs: string, now: number) => {
    if (Number(expiry) >= now) return theirs;
    const [theirOwner, , theirExpiry] = theirs.split(", ");
    return theirOwner === (isParentCannotControlBurned(fuses) ? zero : owner) && theirExpiry === text(expiry)
      ? ours
      : theirs;
  };
  const ours = `${text(owner)}, ${fuses}, ${text(expiry)}`;
  return [
    {
      chainId: root.chainId,
      to: root.address,
      field: "getData",
      args: [BigInt(text(id))],
      row: `wrapped ${name ?? text(id)}`,
      ours,
      topics: [id as Hex],
      asOurs,
    },
  ];
}

/** Public resolvers, which store what they answer, by chain and address; those that know the default address by `true`. */
function resolversOf({ datasources }: Config): Map<string, boolean> {
  const all = deployedContracts(datasources, ["staticResolver"]).filter(
    ({ contract, address }) => address && !contract.isExtended,
  );
  return new Map(
    all.map(({ chainId, address, contract }) => [`${chainId}:${address}`, contract.hasDefaultAddress]),
  );
}

function ofResolver(config: Config, known: ReadonlyMap<string, boolean>, row: Row): Question[] {
  const chainId = config.isSubgraphCompatible ? config.rootChainId : Number(text(row["id"]).split("-")[0]);
  const hasDefault = known.get(`${chainId}:${row["address"]}`);
  if (hasDefault === undefined) return [];
  const node = row["domain_id"] as Hex;
  const about = {
    chainId,
    to: row["address"] as Hex,
    row: `resolver ${text(row["name"]) || node}`,
    topics: [node],
  };
  // Older resolvers lack some functions.
  const unlessUnset = (theirs: string) =>
    theirs === "reverted" && !row["content_hash"] ? undefined : theirs;
  const values = (row["values"] as [string, string | null][] | null) ?? [];
  return [
    ...(hasDefault && row["addr_id"] === null
      ? []
      : [{ ...about, field: "addr" as const, args: [node], ours: hexOf(row["addr_id"]) }]),
    {
      ...about,
      field: "contenthash",
      args: [node],
      ours: text(row["content_hash"] ?? "0x"),
      asOurs: unlessUnset,
    },
    // Without a value in its event the text is on the chain only.
    ...values.flatMap(([key, ours]) =>
      ours === null ? [] : [{ ...about, field: "text" as const, args: [node, key], ours }],
    ),
  ];
}
