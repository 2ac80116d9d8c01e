/** What to try once the demo is up: addresses and commands that fit one screen. `seconds` includes the unit. */
export function demoScreen({
  url,
  labelsUrl,
  seconds,
}: {
  url: string;
  labelsUrl: string;
  seconds: string;
}): string {
  const post = `curl -s ${url}/subgraph -H 'content-type: application/json' -d`;
  return `
nsindex is up, ${seconds} after the start.

  GraphiQL   ${url}/subgraph (in a browser)

The newest registrations; names are registered, renewed and changed every few seconds:
  ${post} '{"query":"{ registrations(first: 3, orderBy: registrationDate, orderDirection: desc) { domain { name } expiryDate registrant { id } } }"}'

The newest names with a resolver, their owners and records:
  ${post} '{"query":"{ domains(first: 3, where: { resolver_not: null }, orderBy: createdAt, orderDirection: desc) { name owner { id } resolver { texts coinTypes } } }"}'

Indexing status, configuration, and whether the index is in real time:
  curl -s ${url}/api/indexing-status
  curl -s ${url}/api/config
  curl -s ${url}/amirealtime

The label behind a labelhash (here "eth"):
  curl -s ${labelsUrl}/v1/heal/0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0

Ctrl-C stops everything and leaves nothing behind.`;
}
