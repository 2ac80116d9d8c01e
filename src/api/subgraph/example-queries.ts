/** The queries that GraphiQL opens with, one a tab. */
export const exampleQueries = (now: number): string[] => [
  `# The newest names
query LatestNames {
  domains(first: 10, orderBy: createdAt, orderDirection: desc) {
    name
    createdAt
    owner { id }
    registration { expiryDate registrant { id } }
  }
}
`,
  `# Names with their records. One name: where: { name: "…" }
query Records {
  domains(first: 5, orderBy: createdAt, orderDirection: desc, where: { resolver_not: null }) {
    name
    resolvedAddress { id }
    resolver { address texts coinTypes contentHash }
  }
}
`,
  `# Names of addresses, by role. One address: where: { id: "0x…" }, in lower case
query NamesOfAddress {
  accounts(first: 5) {
    id
    domains(first: 10) { name }
    registrations(first: 10) { domain { name } expiryDate }
    wrappedDomains(first: 10) { name expiryDate fuses }
  }
}
`,
  `# What happened to names: events of registry, registrar and wrapper
query History {
  registrations(first: 3, orderBy: registrationDate, orderDirection: desc) {
    domain { name events(first: 20) { __typename blockNumber transactionID } }
    events(first: 20) { __typename blockNumber transactionID }
  }
}
`,
  `# The next names to expire
query ExpiringSoon {
  registrations(first: 10, orderBy: expiryDate, orderDirection: asc, where: { expiryDate_gt: ${now} }) {
    domain { name }
    expiryDate
    registrant { id }
  }
}
`,
];
