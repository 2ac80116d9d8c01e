import type { Hex } from "viem";

/** A query of clients, and the variables with which it is sent. */
export type ClientQuery = { name: string; query: string; variables: object[] };

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
  const [ofIds, ofNames] = [some.map(({ id }) => ({ id })), some.map(({ name }) => ({ name }))];
  const ofOwners = [collector, ...some.map(({ owner }) => owner.id)].map((id) => ({
    where: buildNamesFilter(id),
  }));
  const ofRests = some.map(({ name }) => ({ id: eth, first: 100, last: name }));
  const ofDates = some.map((_, i) => ({ from: String(now + i) }));
  const ofTexts = some.map(({ name }) => ({ text: name.slice(0, 6) }));
  const ofPages = Array.from({ length: 40 }, (_, i) => ({ skip: 3000 + 10 * i }));
  const rows: [name: string, query: string, variables: object[]][] = [
    ["latest-domains", latest, [{ first: 5 }]],
    [
      "domain-by-id",
      `query($id: ID!) { domain(id: $id) { ${details} resolver { id address texts coinTypes } } }`,
      ofIds,
    ],
    [
      "domain-by-name",
      "query($name: String!) { domains(first: 1, where: { name: $name }) { id name labelhash owner { id } } }",
      ofNames,
    ],
    [
      "names-for-address",
      `query($where: Domain_filter) { domains(first: 100, orderBy: name, where: $where) { ${details} } }`,
      ofOwners,
    ],
    ["subnames-of-eth", subnames, ofRests],
    ["expiring", expiring, ofDates],
    ["domain-events", events, ofIds],
    ["search", search, ofTexts],
    ["deep-page", "query($skip: Int!) { domains(first: 1000, skip: $skip) { id name } }", ofPages],
    ["meta", "{ _meta { block { number } hasIndexingErrors } }", [{}]],
  ];
  return rows.map(([name, query, variables]) => ({ name, query, variables }));
}

const latest =
  "query($first: Int!) { domains(orderBy: createdAt, orderDirection: desc, first: $first) { name expiryDate } }";
const subnames = `query($id: ID!, $first: Int!, $last: String) { domain(id: $id) { subdomains(first: $first, orderBy: name,
  where: { name_gt: $last }) { id name labelName createdAt owner { id } registrant { id } expiryDate } } }`;
const expiring = `query($from: BigInt!) { registrations(first: 50, orderBy: expiryDate, where: { expiryDate_gt: $from }) {
  id expiryDate labelName registrant { id } domain { name } } }`;
const events = `query($id: ID!) { domain(id: $id) {
  events { id blockNumber transactionID __typename ... on Transfer { owner { id } } ... on NewOwner { owner { id } } }
  registration { events { id blockNumber transactionID __typename } }
  resolver { events { id blockNumber transactionID __typename } } } }`;
const search = `query($text: String!) { domains(first: 20, orderBy: name, where: { name_starts_with: $text }) {
  id name labelName owner { id } } }`;

/** The filter of ensjs' getNamesForAddress with its usual settings. */
function buildNamesFilter(address: Hex): object {
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
