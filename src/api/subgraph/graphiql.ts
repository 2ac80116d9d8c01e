import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Context } from "hono";
import { acceptsGzip, type Send } from "../rest/send.ts";

// `policy`: what the page may load and run (CSP).
type Page = { text: Uint8Array; packed: Uint8Array; policy: string };
const pages = new Map<string, { day: number; page: Promise<Page> }>();
const secondsOfDay = 86_400;

/** The page of GraphiQL. It is large: it is packed once a day, and every browser is sent the same bytes. */
export function graphiqlOfToday(endpoint: string, hasQuery: boolean): Promise<Page> {
  const day = Math.floor(Date.now() / 1_000 / secondsOfDay);
  const key = `${endpoint} ${hasQuery}`;
  const known = pages.get(key);
  if (known?.day === day) return known.page;
  const page = graphiqlPage(endpoint, hasQuery, day * secondsOfDay);
  pages.set(key, { day, page });
  page.catch(() => pages.delete(key));
  return page;
}

async function graphiqlPage(endpoint: string, hasQuery: boolean, now: number): Promise<Page> {
  const queries = exampleQueries(now);
  // The page would take an option `query` rather than the one in its address.
  const query = hasQuery ? {} : { query: queries[0] };
  const options = { endpoint, title: "Subgraph", ...query, defaultTabs: queries.map((query) => ({ query })) };
  const worker = new Worker(new URL("./graphiql-page.ts", import.meta.url), {
    workerData: options,
    execArgv: [],
  });
  const [page] = (await once(worker, "message")) as [Page];
  return page;
}

/** Sends the page, packed if the browser accepts that. */
export function sendPage(c: Context, { text, packed, policy }: Page, send: Send): Response {
  const headers: Record<string, string> = {
    "Content-Type": "text/html; charset=UTF-8",
    "Content-Security-Policy": policy,
    "Cache-Control": "public, max-age=3600",
    Vary: "Accept, Accept-Encoding",
  };
  const body = acceptsGzip(c) ? packed : text;
  if (body === packed) headers["Content-Encoding"] = "gzip";
  headers["Content-Length"] = `${body.length}`;
  return send(c, [body], { headers, isPacked: false, isShared: true });
}

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
