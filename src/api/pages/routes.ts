import { type Context, Hono } from "hono";
import { html } from "hono/html";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { escapeControls } from "../../log/json-log.ts";
import { isNode, readName } from "../names/contract.ts";
import type { Row } from "../names/rows.ts";
import { keyHeaders } from "../rest/endpoint.ts";
import { addressPage } from "./address-page.ts";
import { type Ask, type Asking, openAsking } from "./ask.ts";
import { blockPage } from "./block-page.ts";
import { type Frame, memberOf, nameText, note, type Page, page, policy, type Shown } from "./layout.ts";
import { missingName, namePage } from "./name-page.ts";

// The segment as it was sent, so that no text is decoded twice.
const partOf = (c: Context) => new URL(c.req.url).pathname.split("/")[2] ?? "";

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// The name that a request meant, if it wrote it otherwise than the index has it.
function otherForm(given: string, row: Row): string | undefined {
  if (isNode(given)) return undefined;
  const read = readName(given);
  const isMeant = "name" in read && read.node === row.namehash && read.name === row.name;
  return isMeant && given !== row.name ? row.name : undefined;
}

/**
 * GET /name/…, /address/…, /block/… and /transaction/… show REST responses as pages; GET /name?name= redirects to one of them. `clock`
 * returns milliseconds.
 */
export function nameRoutes({ ask, clock }: { ask: Ask; clock: () => number }, frame: Frame): Hono {
  // A page whose first request fails shows why.
  const send = async (
    c: Context,
    path: string,
    {
      pageOf,
      missingOf,
    }: {
      pageOf: (body: unknown, asking: Asking, shown: Shown) => Promise<Page | { redirect: string }>;
      missingOf?: (asking: Asking) => Promise<Page>;
    },
  ) => {
    const title = decoded(partOf(c));
    const asking = openAsking(ask, c);
    const { status, body } = await asking.ask(path);
    const reason = memberOf(body, "error.message") ?? memberOf(body, "message");
    const refused = async () => ({
      heading: html`<h1>${nameText(title.slice(0, 200))}</h1>`,
      content: note(reason),
    });
    const found =
      status === 200
        ? await pageOf(body, asking, { frame, now: Math.floor(clock() / 1_000) })
        : await (status === 404 && missingOf ? missingOf(asking) : refused());
    if ("redirect" in found) return c.redirect(found.redirect);
    const parts = { title: escapeControls(title.slice(0, 100)), ...found };
    const headers = { "content-security-policy": policy, ...keyHeaders(asking.keys) };
    return c.html(page(frame, parts), status as ContentfulStatusCode, headers);
  };
  return new Hono()
    .get("/name", (c) => {
      const given = c.req.query("name")?.trim() ?? "";
      const folder = /^0x[0-9a-f]{40}$/i.test(given) ? "address" : "name";
      return c.redirect(`/${folder}/${encodeURIComponent(given)}`);
    })
    .get("/name/:name", (c) => {
      const given = decoded(partOf(c));
      return send(c, `/v1/names/${partOf(c)}?include=counts`, {
        pageOf: async (body, asking, shown) => {
          const row = memberOf(body, "data") as Row;
          const other = otherForm(given, row);
          if (other !== undefined) return { redirect: `/name/${encodeURIComponent(other)}` };
          return namePage(row, asking, shown);
        },
        missingOf: (asking) => missingName(given, asking),
      });
    })
    .get("/address/:address", (c) =>
      send(c, `/v1/addresses/${partOf(c)}/names?sort=expires_at&include=total_count&page_size=100`, {
        pageOf: addressPage(partOf(c).toLowerCase()),
      }),
    )
    .get("/block/:block", (c) =>
      send(c, `/v1/blocks/${partOf(c)}?include=data,raw`, { pageOf: blockPage(partOf(c)) }),
    )
    .get("/transaction/:transaction", (c) => {
      const [chain = "", block = "", transaction = ""] = partOf(c).split(":");
      const path = `/v1/blocks/${chain}:${block}?include=data,raw&transaction_hash=${transaction}`;
      return send(c, path, { pageOf: blockPage(partOf(c)) });
    });
}
