import { type Context, Hono } from "hono";
import { html } from "hono/html";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { escapeControls } from "../../log/json-log.ts";
import { keyHeaders, unkeyed } from "../rest/endpoint.ts";
import {
  type Frame,
  facts,
  type Html,
  listOf,
  memberOf,
  page,
  policy,
  section,
  shown,
  valuesOf,
} from "./layout.ts";

/** Requests a path of this service by GET, for the client of the request `c`. `keys`: of the response for caches, if it has any. */
export type Ask = (path: string, c?: Context) => Promise<Asked>;
type Asked = { status: number; body: unknown; keys?: string[] | undefined };

const most = 30;

// A list of a page: the path to request, with `$id` and `$name`, and where in the body its rows are.
type Block = { title: string; path: string; rows: string; columns: string };

const action =
  "What=action.type, Time=action.block.timestamp:time, By=action.registrant:address, Price=action.pricing.total.amount, In=action.pricing.total.currency, Transaction=action.transactionHash:hash";
const entry =
  "Event=type, Time=timestamp:time, Block=block_number:number, With=data:details, Transaction=transaction_hash:hash";
const role = "Contract=contract.address:hash, Kind=kind, Account=account:address, Roles=roles";

const ownership =
  "Status=status, Generation=version, Reserved in ENSv2=reserved, Wrapper=ens_v1.wrapper_state, Wrapper=wrapper.wrapper_state, " +
  "Owner=owner:address, Manager=manager:address, Held until its end by=lapsed_registration.owner:address, Resolver=resolver.address:hash, " +
  "Resolves to=primary_address:address, Expires=expires_at:time, End of the grace period=grace_ends_at:time, Migrated=migrated_at:time, " +
  "Registered=registered_at:time, First seen=created_at:time, Subnames=subname_count:number, Node=namehash:hash";

const nameBlocks: Block[] = [
  {
    title: "Tokens",
    path: "/api/name-tokens?domainId=$id",
    rows: "registeredNameTokens.tokens",
    columns:
      "Contract=token.contract.address:hash, Chain=token.contract.chainId, Kind=token.assetNamespace, Owner=ownership.owner.address:address, State=mintStatus, Ownership=ownership.ownershipType",
  },
  {
    title: "Records",
    path: "/v1/names/$id/records",
    rows: "data.records",
    columns: "Key=key, State=status, Value=value",
  },
  {
    title: "Registrations and renewals",
    path: `/api/registrar-actions?node=$id&recordsPerPage=${most}`,
    rows: "registrarActions",
    columns: action,
  },
  {
    title: "Sales",
    path: `/api/name-sales?domainId=$id&recordsPerPage=${most}`,
    rows: "nameSales",
    columns:
      "Time=block.timestamp:time, Seller=seller:address, Buyer=buyer:address, Price=price.amount, In=price.currency, Transaction=transactionHash:hash",
  },
  {
    title: "Roles in ENSv2",
    path: `/api/permissions?name=$name&recordsPerPage=${most}`,
    rows: "permissions",
    columns: role,
  },
  {
    title: "History",
    path: `/v1/names/$id/history?include=data&page_size=${most}`,
    rows: "data",
    columns: entry,
  },
  {
    title: "Subnames",
    path: `/v1/names/$id/subnames?page_size=${most}`,
    rows: "data",
    columns: "Name=name:name, Owner=owner:address, First seen=created_at:time",
  },
];

const namesOf = (title: string, relation: string): Block => ({
  title,
  path: `/v1/addresses/$id/names?relation=${relation}&page_size=${most}`,
  rows: "data",
  columns: "Name=name:name, As=relations, State=status, Expires=expires_at:time",
});

const addressBlocks: Block[] = [
  {
    title: "Primary name",
    path: "/v1/addresses/$id/primary-name?source=indexed",
    rows: "data.answers",
    columns: "Name=name, State=status",
  },
  namesOf("Names", "any"),
  namesOf("Names that resolve to it", "resolves_to"),
  namesOf("Names that it held until they ended", "former_owner"),
  {
    title: "Registered or renewed",
    path: `/api/registrar-actions?registrant=$id&recordsPerPage=${most}`,
    rows: "registrarActions",
    columns: `Name=name:name, ${action}`,
  },
  {
    title: "Roles in ENSv2",
    path: `/api/permissions?account=$id&recordsPerPage=${most}`,
    rows: "permissions",
    columns: `Name=name, ${role}`,
  },
  {
    title: "History",
    path: `/v1/addresses/$id/history?include=data&page_size=${most}`,
    rows: "data",
    columns: `Name=name:name, ${entry}`,
  },
];

const asked = (path: string) => html`<details><summary>REST endpoint</summary>
<pre>${path}</pre><p><a href="${path}">Open</a></p></details>`;

// A map counts as a list of its members.
function rowsIn(body: unknown, member: string): object[] {
  const rows = memberOf(body, member) ?? [];
  if (Array.isArray(rows)) return rows;
  return Object.entries(rows).map(([key, row]) => ({ key, ...row }));
}

// Lists without rows are left out: their plugin is not active, or nothing has happened.
function listsOf(
  blocks: readonly Block[],
  { id, name }: { id: string; name: string },
  ask: (path: string) => ReturnType<Ask>,
): Promise<Html[]> {
  const lists = blocks.map(async ({ title, path, rows, columns }) => {
    const own = path.replace("$id", id).replace("$name", encodeURIComponent(name));
    const { status, body } = await ask(own);
    const found = status === 200 ? rowsIn(body, rows) : [];
    if (found.length === 0 || found.every((row) => "status" in row && row.status === "not_found"))
      return html``;
    const many = found.length < most ? `all ${found.length}` : `${most} of them`;
    return section(title, html`${listOf(`${title}: ${many}`, found.slice(0, most), columns)}${asked(own)}`);
  });
  return Promise.all(lists);
}

const note = (words: unknown) => html`<p class="note">${shown(String(words), 1_500)}</p>`;

// The segment as it was sent, so that no text is decoded twice.
const partOf = (c: Context) => new URL(c.req.url).pathname.split("/")[2] ?? "";

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** GET /name/… and /address/… show REST responses as pages; GET /name?name= redirects to one of them. */
export function nameRoutes({ ask }: { ask: Ask }, frame: Frame): Hono {
  // A page whose first request fails shows why.
  const send = async (c: Context, path: string, contentOf: (body: unknown, ask: Ask) => Promise<Html>) => {
    const title = decoded(partOf(c));
    const keys = new Set<string>();
    const asking: Ask = async (one) => {
      const answer = await ask(one, c);
      // What others than those under /v1 show changes with the same events.
      if (one.startsWith("/v1/")) for (const key of answer.keys ?? [unkeyed]) keys.add(key);
      return answer;
    };
    const { status, body } = await asking(path);
    const refusal = memberOf(body, "error.message") ?? memberOf(body, "message");
    const content = status === 200 ? await contentOf(body, asking) : note(refusal);
    const parts = { title: escapeControls(title.slice(0, 100)), heading: shown(title, 200), content };
    const headers = { "content-security-policy": policy, ...keyHeaders(keys) };
    return c.html(page(frame, parts), status as ContentfulStatusCode, headers);
  };
  return new Hono()
    .get("/name", (c) => {
      const given = c.req.query("name")?.trim() ?? "";
      const folder = /^0x[0-9a-f]{40}$/i.test(given) ? "address" : "name";
      return c.redirect(`/${folder}/${encodeURIComponent(given)}`);
    })
    .get("/name/:name", (c) => {
      const path = `/v1/names/${partOf(c)}?include=counts`;
      return send(c, path, async (body, asking) => {
        const data = memberOf(body, "data");
        const about = { id: String(memberOf(data, "namehash")), name: String(memberOf(data, "name")) };
        const first = section("Ownership", html`${facts(valuesOf(data, ownership))}${asked(path)}`);
        return html`${first}${await listsOf(nameBlocks, about, asking)}`;
      });
    })
    .get("/address/:address", (c) => {
      const id = partOf(c);
      return send(c, `/v1/addresses/${id}/names?page_size=1`, async (_, asking) => {
        const lists = await listsOf(addressBlocks, { id, name: "" }, asking);
        const isKnown = lists.some((list) => String(list) !== "");
        return isKnown ? html`${lists}` : note("The index has no name of this address.");
      });
    });
}
