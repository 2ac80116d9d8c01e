import type { Value } from "../../src/api/subgraph/schema/inputs.ts";

/** A query and hand-written SQL for the same rows. */
export type Shape = {
  name: string;
  query: string;
  variables: { [name: string]: Value };
  sql: string;
  values: unknown[];
};

const name = `id name labelName labelhash isMigrated createdAt owner { id } registrant { id } wrappedOwner { id }
  resolvedAddress { id }`;
const nameColumns = `d.id, d.name, d.label_name, d.labelhash, d.is_migrated, d.created_at, d.owner_id, d.registrant_id,
  d.wrapped_owner_id, d.resolved_address_id`;
const terms = "registration { registrationDate expiryDate } wrappedDomain { expiryDate fuses }";
const termColumns =
  "r.registration_date, r.expiry_date AS registered_until, w.expiry_date AS wrapped_until, w.fuses";
const termJoins =
  "LEFT JOIN registration r ON r.domain_id = d.id LEFT JOIN wrapped_domain w ON w.domain_id = d.id";
const reverseNode = "0x91d1777781884d03a6757a803996e38de2a42967fb37eeaca72729271025a9e2";
const zero = `0x${"0".repeat(40)}`;

/** Arguments of the shapes: an account, a name, and the parent of many names. */
export type Subject = { address: string; node: string; bigParent: string };

/** The six measured shapes. */
export function shapes(subject: Subject): Shape[] {
  return [
    latestDomains,
    namesForAddress(subject),
    subnamesOfBigName(subject),
    historyOfName(subject),
    withTheirEvents,
    oneById(subject),
  ];
}

const latestDomains: Shape = {
  name: "latest domains",
  query:
    "query($first: Int!) { domains(orderBy: createdAt, orderDirection: desc, first: $first) { name expiryDate } }",
  variables: { first: 5 },
  sql: "SELECT name, expiry_date FROM domain ORDER BY created_at DESC, id DESC LIMIT 5",
  values: [],
};

const namesForAddress = ({ address }: Subject): Shape => ({
  name: "names for an address",
  query: `query($where: Domain_filter) { domains(first: 100, orderBy: name, orderDirection: asc, where: $where) {
    ${name} parent { id name } ${terms} } }`,
  variables: {
    where: {
      and: [
        {
          or: ["owner", "registrant", "resolvedAddress", "wrappedOwner"].map((key) => ({
            [key]: address,
          })),
        },
        { parent_not: reverseNode },
        { or: [{ expiryDate_gt: "1760000000" }, { expiryDate: null }] },
        {
          or: [
            { owner_not: zero },
            { resolver_not: null },
            { and: [{ registrant_not: zero }, { registrant_not: null }] },
          ],
        },
      ],
    },
  },
  sql: `SELECT ${nameColumns}, p.id AS parent, p.name AS parent_name, ${termColumns}
    FROM (SELECT * FROM domain d WHERE (owner_id = $1 OR registrant_id = $1 OR resolved_address_id = $1 OR wrapped_owner_id = $1)
      AND parent_id <> $2 AND (expiry_date > 1760000000 OR expiry_date IS NULL)
      AND (owner_id <> $3 OR resolver_id IS NOT NULL OR (registrant_id <> $3 AND registrant_id IS NOT NULL))
      ORDER BY name, id LIMIT 100) d LEFT JOIN domain p ON p.id = d.parent_id ${termJoins} ORDER BY d.name, d.id`,
  values: [address, reverseNode, zero],
});

const subnamesOfBigName = ({ bigParent }: Subject): Shape => ({
  name: "subnames of a big name",
  query: `query($id: String!, $where: Domain_filter) { domain(id: $id) {
    subdomains(first: 100, orderBy: name, orderDirection: asc, where: $where) { ${name} ${terms} } } }`,
  variables: {
    id: bigParent,
    where: {
      and: [
        { or: [{ expiryDate_gt: "1760000000" }, { expiryDate: null }] },
        { or: [{ owner_not: zero }, { resolver_not: null }] },
      ],
    },
  },
  sql: `SELECT ${nameColumns}, ${termColumns} FROM (SELECT * FROM domain WHERE parent_id = $1
      AND (expiry_date > 1760000000 OR expiry_date IS NULL) AND (owner_id <> $2 OR resolver_id IS NOT NULL)
      ORDER BY left(name, 256), name, id LIMIT 100) d ${termJoins} ORDER BY d.name, d.id`,
  values: [bigParent, zero],
});

const historyOfName = ({ node }: Subject): Shape => ({
  name: "history of a name",
  query: `query($id: String!) { domain(id: $id) {
    events { id blockNumber transactionID type: __typename ... on Transfer { owner { id } } ... on NewOwner { owner { id } }
      ... on NewResolver { resolver { id } } ... on NewTTL { ttl } ... on NameWrapped { fuses expiryDate owner { id } } }
    registration { events { id blockNumber transactionID type: __typename ... on NameRegistered { registrant { id } expiryDate } } }
    resolver { events { id blockNumber transactionID type: __typename ... on AddrChanged { addr { id } } ... on TextChanged { key value } } } } }`,
  variables: { id: node },
  sql: `SELECT e.id, e.block_number, e.transaction_id, e.type, e.owner_id, e.resolver_id AS detail, NULL::numeric AS expiry
      FROM domain_event e WHERE e.domain_id = $1
    UNION ALL SELECT e.id, e.block_number, e.transaction_id, e.type, e.registrant_id, NULL, e.expiry_date
      FROM registration r JOIN registration_event e ON e.registration_id = r.id WHERE r.domain_id = $1
    UNION ALL SELECT e.id, e.block_number, e.transaction_id, e.type, e.addr_id, e.key, NULL
      FROM domain d JOIN resolver_event e ON e.resolver_id = d.resolver_id WHERE d.id = $1`,
  values: [node],
});

const withTheirEvents: Shape = {
  name: "1,000 with their events",
  query: "{ domains(first: 1000) { id name events { id blockNumber transactionID __typename } } }",
  variables: {},
  sql: `SELECT d.id, d.name, (SELECT json_agg(json_build_object('id', e.id, 'blockNumber', e.block_number,
      'transactionID', e.transaction_id, '__typename', e.type)) FROM
      (SELECT * FROM domain_event e WHERE e.domain_id = d.id ORDER BY e.id LIMIT 100) e) AS events
    FROM domain d ORDER BY d.id LIMIT 1000`,
  values: [],
};

const oneById = ({ node }: Subject): Shape => ({
  name: "one by id",
  query: `query($id: String!) { domain(id: $id) { ${name} } }`,
  variables: { id: node },
  sql: `SELECT ${nameColumns} FROM domain d WHERE d.id = $1`,
  values: [node],
});
