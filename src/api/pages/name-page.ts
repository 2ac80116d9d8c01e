import { type Context, Hono } from "hono";
import { html } from "hono/html";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { Hex } from "viem";
import { namehash, nodeOfInterpretedName } from "../../ens/names.ts";
import { normalizedName } from "../../ens/normalization.ts";
import { escapeControls } from "../../log/json-log.ts";
import type { Database } from "../database/client.ts";
import { type NamesSource, readNames } from "../names/lookups.ts";
import { noExpiry, type StoredName } from "../names/names.ts";
import { timesOf } from "../names/places.ts";
import { createGate, type GateContext } from "../rest/gate.ts";
import { addressParameter } from "../rest/values.ts";
import type { CurrentStatus } from "../status/status-source.ts";
import {
  addressLink,
  count,
  date,
  type Frame,
  facts,
  type Html,
  hash,
  nameLink,
  page,
  policy,
  section,
  shown,
  span,
  table,
} from "./layout.ts";
import { addressSql, most, nameSql } from "./name-sql.ts";

/** What the pages of names and addresses are made of. `clock` gives milliseconds. */
export type NameSources = GateContext & {
  config: { isSubgraphCompatible: boolean };
  database: Database;
  clock: () => number;
  /** How `/v1` reads names. */
  lookup: NamesSource;
};

/** A row as its statement gives it: every value is a text, so that large numbers stay exact. */
export type Row = Readonly<Record<string, string | null>>;

const formats: Readonly<Record<string, (value: string) => Html>> = {
  text: (value) => shown(value, 300),
  number: (value) => html`${count(Number(value))}`,
  time: (value) => date(Number(value)),
  hash,
  address: addressLink,
  // Of events: an account, or what else they are about.
  what: (value) => (/^0x[0-9a-f]{40}$/.test(value) ? addressLink(value) : shown(value)),
};

/** Rows as a table. `columns`: `Title=member:format, …`; the member `name` leads to the name's page. */
export function listOf(caption: string, rows: readonly Row[], columns: string): Html {
  const parsed = columns.split(", ").map((column) => /^(.+)=(\w+):?(\w*)$/.exec(column)?.slice(1) ?? []);
  const cell = (row: Row, member: string, format = "") => {
    const value = row[member] ?? null;
    if (member === "name" && row["id"]) return nameLink({ id: row["id"], name: value });
    return value === null ? html`–` : (formats[format || "text"] ?? formats["text"])?.(value);
  };
  const body = rows.map((row) =>
    parsed.map(([, member = "", format]) => cell(row, member, format) ?? html``),
  );
  return table({ caption, head: parsed.map(([title = ""]) => title), rows: body });
}

/** A list of a page. `ask`: the path of a REST endpoint or the fields of a GraphQL query that give the same, with `$id` and `$name`. */
type Block = { list: string; title: string; columns: string; ask?: string };

const resolverQuery = `resolver { address texts coinTypes contentHash addr { id }
    events(first: 30) { __typename ... on TextChanged { key value } ... on MulticoinAddrChanged { coinType addr } } }`;
const events = "events(first: 30) { __typename blockNumber transactionID }";

const nameBlocks: Block[] = [
  {
    list: "tokens",
    title: "Tokens",
    columns: "Contract=contract:hash, Chain=chain, Kind=kind, Owner=owner:address, State=status",
    ask: "/api/name-tokens?domainId=$id",
  },
  {
    list: "records",
    title: "Records",
    columns: "Key or coin type=key, Kind=kind, Value=value",
    ask: `domain(id: "$id") {\n  ${resolverQuery} }`,
  },
  {
    list: "actions",
    title: "Registrations and renewals",
    columns:
      "What=type, Time=time:time, By=registrant:address, Price=total, In=currency, Transaction=tx:hash",
    ask: "/api/registrar-actions?node=$id",
  },
  {
    list: "sales",
    title: "Sales",
    columns:
      "Time=time:time, Seller=seller:address, Buyer=buyer:address, Price=amount, In=currency, Transaction=tx:hash",
    ask: "/api/name-sales?domainId=$id",
  },
  {
    list: "entries",
    title: "Entries of ENSv2",
    columns:
      "Registry=registry:hash, Chain=chain, Owner=owner:address, Expires=expiry:time, Resolver=resolver:hash",
    ask: "/api/permissions?name=$name",
  },
  {
    list: "history",
    title: "History",
    columns: "Event=type, Time=time:time, Block=block:number, With=what:what, Transaction=tx:hash",
    ask: `domain(id: "$id") {\n  ${events}\n  registration { ${events} }\n  resolver { ${events} } }`,
  },
  {
    list: "subnames",
    title: "Subnames",
    columns: "Name=name, Manager=owner:address, First seen=since:time",
    ask: `domains(first: 30, orderBy: createdAt, orderDirection: desc, where: { parent: "$id" }) { name owner { id } createdAt }`,
  },
];

const ofRole = (list: string, title: string, field: string): Block => ({
  list,
  title,
  columns: "Name=name, End of grace period=expiry:time, First seen=since:time",
  ask: `domains(first: 30, where: { ${field}: "$id" }) { name expiryDate createdAt }`,
});

const addressBlocks: Block[] = [
  {
    list: "reverse",
    title: "Primary names",
    columns: "Name=name, Coin type=coinType",
    ask: "/api/resolve/primary-names/$id",
  },
  ofRole("owner", "Manager", "owner"),
  ofRole("registrant", "Owner of the registrar's token", "registrant"),
  ofRole("wrapped", "Owner of the wrapper's token", "wrappedOwner"),
  ofRole("resolved", "Names that resolve to it", "resolvedAddress"),
  {
    list: "entries",
    title: "Entries of ENSv2",
    columns: "Name=name, Registry=registry:hash, Expires=expiry:time, First seen=since:time",
    ask: "/api/permissions?account=$id",
  },
  {
    list: "tokens",
    title: "Name tokens",
    columns: "Name=name, Chain=chain, Contract=contract:hash, State=status",
  },
  {
    list: "actions",
    title: "Registered or renewed",
    columns: "Name=name, What=type, Time=time:time, Transaction=tx:hash",
    ask: "/api/registrar-actions?registrant=$id",
  },
];

type Found = Readonly<Record<string, Row | readonly Row[] | null>>;
type About = { id: Hex; name: string; now: number; hasSubgraph: boolean };

function asked(ask: string | undefined, { id, name, hasSubgraph }: About): Html {
  const isPath = ask?.startsWith("/") === true;
  if (ask === undefined || (!isPath && !hasSubgraph)) return html``;
  const source = isPath
    ? ask.replaceAll("$id", id).replaceAll("$name", encodeURIComponent(name))
    : `{\n  ${ask.replaceAll("$id", id)}\n}`;
  const link = isPath ? source : `/subgraph?query=${encodeURIComponent(source)}`;
  return html`<details><summary>${isPath ? "REST endpoint" : "GraphQL query"}</summary>
<pre>${source}</pre><p><a href="${link}">${isPath ? "Open" : "Open in GraphiQL"}</a></p></details>`;
}

// Lists without rows are left out: their plugin is not active, or nothing has happened.
function lists(blocks: readonly Block[], found: Found, about: About): Html {
  const parts = blocks.map(({ list, title, columns, ask }) => {
    const rows = found[list];
    if (!Array.isArray(rows)) return html``;
    const many = rows.length < most ? `all ${rows.length}` : `${most} of them`;
    return section(title, html`${listOf(`${title}: ${many}`, rows, columns)}${asked(ask, about)}`);
  });
  return html`${parts}`;
}

/** Until when a name is held, with the grace period in which only its owner can renew it. */
function expiryText(expiry: number, graceEnd: number, now: number): Html {
  if (now < expiry) return html`${date(expiry)}, in ${span(expiry - now)}`;
  if (now < graceEnd) return html`${date(expiry)}; can be renewed until ${date(graceEnd)}`;
  return html`${date(expiry)}, ${span(now - expiry)} ago`;
}

const generationText = ({ v2, status }: StoredName) =>
  v2 ? `${v2.isReserved ? "ENSv1; reserved in ENSv2" : v2.isInForce ? "ENSv2" : "ENSv1"}, ${status}` : status;

/** Who holds a name, and until when: `name` by the rules of docs/names.md, beside what single contracts store. */
function ownershipFacts(
  { domain, wrapped, resolver }: Readonly<Record<"domain" | "wrapped" | "resolver", Row | null>>,
  { id, now }: { id: Hex; now: number },
  name: StoredName | undefined,
): Html {
  const one = (value: string | null | undefined, show: (value: string) => Html) =>
    value ? show(value) : undefined;
  const time = (value: string) => date(Number(value));
  const ends = name?.expires === "0" || name?.expires === noExpiry ? null : name?.expires;
  const hasGrace = name?.graceEnds !== name?.expires;
  return facts([
    [name?.v2 ? "In force" : "Status", one(name && generationText(name), (text) => html`${text}`)],
    ["Owner", one(name?.owner, addressLink)],
    ["Manager", one(name?.manager, addressLink)],
    ["Resolver", one(name?.resolver, hash)],
    ["Expires", one(ends, (at) => expiryText(Number(at), Number(name?.graceEnds), now))],
    ["End of the grace period", one(ends && hasGrace ? name?.graceEnds : null, time)],
    ["Brought over", one(name?.v2?.migrated, time)],
    ["Owner in the registry", one(domain?.["owner"], addressLink)],
    ["Owner of the registrar's token", one(domain?.["registrant"], addressLink)],
    ["Owner of the wrapper's token", one(wrapped?.["owner"], addressLink)],
    ["Resolves to", one(domain?.["resolved"], addressLink)],
    ["Content hash", one(resolver?.["contentHash"], hash)],
    ["Registered", one(name?.since, time)],
    ["First seen", one(name?.created, time)],
    ["Subnames", one(domain?.["subnames"], (value) => html`${value}`)],
    ["Node", hash(id)],
  ]);
}

const ownershipQuery = `domain(id: "$id") {
    name owner { id } registrant { id } wrappedOwner { id } resolvedAddress { id }
    expiryDate registration { registrationDate expiryDate } wrappedDomain { expiryDate fuses } }`;

const ownership = (found: Found, about: About, name: StoredName | undefined) =>
  section("Ownership", html`${ownershipFacts(found as never, about, name)}${asked(ownershipQuery, about)}`);

/** The node that a path names: a name, or the node itself; or why it names none. */
function nodeIn(name: string, isSubgraphCompatible: boolean): { id: Hex } | { fault: string } {
  if (/^0x[0-9a-f]{64}$/i.test(name)) return { id: name.toLowerCase() as Hex };
  if (name.length > 1_000) return { fault: "It has more than 1,000 characters. Use its node (namehash)." };
  if (name.split(".").includes("")) return { fault: "It has an empty label." };
  const id = isSubgraphCompatible ? namehash(name) : nodeOfInterpretedName(name);
  if (id !== undefined) return { id };
  const result = normalizedName(name);
  if ("name" in result) return { fault: `It is not normalized (ENSIP-15). Write ${result.name} instead.` };
  return { fault: `It cannot be normalized (ENSIP-15): ${result.fault}.` };
}

function pathPart(c: Context): string | undefined {
  try {
    return decodeURIComponent(new URL(c.req.url).pathname.split("/")[2] ?? "");
  } catch {
    return undefined;
  }
}

const note = (text: string) => html`<p class="note">${shown(text, 1_500)}</p>`;

/** GET /name/…, /address/… and /name?name=, which leads to one of them. */
export function nameRoutes(sources: NameSources, frame: Frame): Hono {
  const { database, clock, config, status, lookup } = sources;
  const hasSubgraph = frame.links.some(([path]) => path === "/subgraph");
  const refusalOf = createGate({ index: "complete" }, sources);
  const send = (c: Context, code: ContentfulStatusCode, title: string, content: Html) => {
    const parts = { title: escapeControls(title.slice(0, 100)), heading: shown(title, 200), content };
    return c.html(page(frame, parts), code, { "content-security-policy": policy });
  };
  const read = async (
    c: Context,
    sql: string,
    about: About,
    show: (found: Found, current: CurrentStatus | undefined) => Html | undefined | Promise<Html | undefined>,
  ) => {
    const current = status.current();
    const refusal = refusalOf(current);
    if (refusal) return send(c, 503, about.name, note(`${refusal.message} ${refusal.details}`));
    const [json] = await database.row(sql, [about.id], c.req.raw.signal);
    const content = await show(JSON.parse(json ?? "{}"), current);
    if (content !== undefined) return send(c, 200, about.name, content);
    return send(c, 404, about.name, note(`The index does not have this name. Its node is ${about.id}.`));
  };
  const about = () => ({ now: Math.floor(clock() / 1_000), hasSubgraph });
  const isKnown = (found: Found) => Object.values(found).some((part) => part !== null);
  return new Hono()
    .get("/name", (c) => {
      const given = c.req.query("name")?.trim() ?? "";
      const folder = /^0x[0-9a-f]{40}$/i.test(given) ? "address" : "name";
      return c.redirect(`/${folder}/${encodeURIComponent(given)}`);
    })
    .get("/name/:name", (c) => {
      const name = pathPart(c);
      if (name === undefined) return send(c, 400, "Malformed path", note("It is not percent-encoded UTF-8."));
      const node = nodeIn(name, config.isSubgraphCompatible);
      if ("fault" in node) return send(c, 400, name, note(`This is not a name. ${node.fault}`));
      const asked = { ...about(), ...node, name };
      return read(c, nameSql, asked, async (found, current) => {
        if (!isKnown(found) || current === undefined) return undefined;
        const one = { names: [{ node: node.id }], times: timesOf(lookup.places, current) };
        const [name] = await readNames(lookup, { ...one, withRecords: false }, c.req.raw.signal);
        return html`${ownership(found, asked, name?.row)}${lists(nameBlocks, found, asked)}`;
      });
    })
    .get("/address/:address", (c) => {
      const name = pathPart(c) ?? "";
      const address = addressParameter("The address").safeParse(name);
      if (!address.success)
        return send(
          c,
          400,
          name,
          note(
            "This is not an address: 0x and 40 hex digits, with a correct checksum where their case is mixed.",
          ),
        );
      const asked = { ...about(), id: address.data, name: address.data };
      return read(c, addressSql, asked, (found) =>
        isKnown(found) ? lists(addressBlocks, found, asked) : note("The index has no name of this address."),
      );
    });
}
