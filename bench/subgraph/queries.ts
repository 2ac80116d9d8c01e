import type { Hex } from "viem";

/** A query of clients, the variables with which it is sent, and the requests/s measured for ENSNode 1.5. */
export type ClientQuery = { name: string; peer: number; query: string; variables: object[] };

/** A name as the service returns it. */
export type KnownName = { id: Hex; name: string; owner: { id: Hex } };

const eth = "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae";
const zero = `0x${"0".repeat(40)}`;
const now = 1_800_000_000;
const details = `id name labelName labelhash isMigrated createdAt parent { id name } owner { id } registrant { id }
  wrappedOwner { id } resolvedAddress { id } expiryDate registration { registrationDate expiryDate }
  wrappedDomain { expiryDate fuses }`;

/** The ten queries; `names` are some of the index's, `collector` owns more than a page of them. */
export function clientQueries(names: readonly KnownName[], collector: Hex): ClientQuery[] {
  const some = names.slice(0, 300);
  return [...queriesOfNames(some, collector), ...queriesOfLists(some)];
}

function queriesOfNames(some: readonly KnownName[], collector: Hex): ClientQuery[] {
  return [
    {
      name: "latest-domains",
      peer: 775,
      query:
        "query($first: Int!) { domains(orderBy: createdAt, orderDirection: desc, first: $first) { name expiryDate } }",
      variables: [{ first: 5 }],
    },
    {
      name: "domain-by-id",
      peer: 516,
      query: `query($id: ID!) { domain(id: $id) { ${details} resolver { id address texts coinTypes } } }`,
      variables: some.map(({ id }) => ({ id })),
    },
    {
      name: "domain-by-name",
      peer: 863,
      query:
        "query($name: String!) { domains(first: 1, where: { name: $name }) { id name labelhash owner { id } } }",
      variables: some.map(({ name }) => ({ name })),
    },
    {
      name: "names-for-address",
      peer: 74,
      query: `query($where: Domain_filter) { domains(first: 100, orderBy: name, where: $where) { ${details} } }`,
      variables: [collector, ...some.map(({ owner }) => owner.id)].map((id) => ({ where: namesOf(id) })),
    },
    {
      name: "subnames-of-eth",
      peer: 294,
      query: `query($id: ID!, $first: Int!, $last: String) { domain(id: $id) { subdomains(first: $first, orderBy: name,
        where: { name_gt: $last }) { id name labelName createdAt owner { id } registrant { id } expiryDate } } }`,
      variables: some.map(({ name }) => ({ id: eth, first: 100, last: name })),
    },
  ];
}

function queriesOfLists(some: readonly KnownName[]): ClientQuery[] {
  return [
    {
      name: "expiring",
      peer: 315,
      query: `query($from: BigInt!) { registrations(first: 50, orderBy: expiryDate, where: { expiryDate_gt: $from }) {
        id expiryDate labelName registrant { id } domain { name } } }`,
      variables: some.map((_, i) => ({ from: String(now + i) })),
    },
    {
      name: "domain-events",
      peer: 542,
      query: `query($id: ID!) { domain(id: $id) {
        events { id blockNumber transactionID __typename ... on Transfer { owner { id } } ... on NewOwner { owner { id } } }
        registration { events { id blockNumber transactionID __typename } }
        resolver { events { id blockNumber transactionID __typename } } } }`,
      variables: some.map(({ id }) => ({ id })),
    },
    {
      name: "search",
      peer: 786,
      query: `query($text: String!) { domains(first: 20, orderBy: name, where: { name_starts_with: $text }) {
        id name labelName owner { id } } }`,
      variables: some.map(({ name }) => ({ text: name.slice(0, 6) })),
    },
    {
      name: "deep-page",
      peer: 146,
      query: "query($skip: Int!) { domains(first: 1000, skip: $skip) { id name } }",
      variables: Array.from({ length: 40 }, (_, i) => ({ skip: 3000 + 10 * i })),
    },
    { name: "meta", peer: 1587, query: "{ _meta { block { number } hasIndexingErrors } }", variables: [{}] },
  ];
}

/** The filter of ensjs' getNamesForAddress with its usual settings. */
function namesOf(address: Hex): object {
  return {
    and: [
      { or: ["owner", "registrant", "resolvedAddress", "wrappedOwner"].map((key) => ({ [key]: address })) },
      { parent_not: "0x91d1777781884d03a6757a803996e38de2a42967fb37eeaca72729271025a9e2" },
      { or: [{ expiryDate_gt: String(now) }, { expiryDate: null }] },
      {
        or: [
          { owner_not: zero },
          { resolver_not: null },
          { and: [{ registrant_not: zero }, { registrant_not: null }] },
        ],
      },
    ],
  };
}
