import { type Context, Hono } from "hono";
import { html } from "hono/html";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { isNode, readName } from "../../ens/given-names.ts";
import { escapeControls } from "../../log/json-log.ts";
import type { NameRow } from "../../read/names/rows.ts";
import { BusyError } from "../../read/sql/client.ts";
import { addressPage } from "./address-page.ts";
import { describeAge, timeOfIndex } from "./age.ts";
import type { PageAsk, PageSources } from "./ask.ts";
import { blockPage, blockTitle } from "./block-page.ts";
import { type Frame, memberOf, note, type Page, type Shown, sendPage, shownName } from "./layout.ts";
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

const reasonOf = (body: unknown) => String(memberOf(body, "error.message") ?? memberOf(body, "message"));

// The name that a request meant, if it wrote it otherwise than the index has it.
function otherForm(given: string, row: NameRow): string | undefined {
  if (isNode(given)) return undefined;
  const read = readName(given);
  const isMeant = "name" in read && read.node === row.namehash && read.name === row.name;
  return isMeant && given !== row.name ? row.name : undefined;
}

type PageParts = {
  titleOf?: (given: string) => string;
  /** The path of another page that was meant, from the first response. */
  otherOf?: (body: unknown) => string | undefined;
  pageOf: (body: unknown, ask: PageAsk, shown: Shown) => Promise<Page>;
  missingOf?: (ask: PageAsk) => Promise<Page>;
};

/** GET /name/…, /address/…, /block/… and /transaction/… show REST responses as pages; GET /name?name= redirects to one of them. */
export function nameRoutes(sources: PageSources, frame: Frame): Hono {
  const { ask, log } = sources;
  // A page whose first request fails shows why.
  const send = async (c: Context, path: string, { titleOf, otherOf, pageOf, missingOf }: PageParts) => {
    const own: PageAsk = async (path, body) => {
      const answer = await ask(path, c, body);
      const reason = reasonOf(answer.body);
      if (answer.isBusy) throw new BusyError(1, { message: reason, details: "" });
      // A refusal has another status: what it would have listed, the index does not have.
      if (answer.status === 500) throw new Error(`${path}: ${reason}`);
      return answer;
    };
    const { status, body } = await ask(path, c);
    const other = status === 200 ? otherOf?.(body) : undefined;
    if (other !== undefined) return c.redirect(other);
    const given = decoded(partOf(c));
    const refused = async () => ({
      heading: html`<h1>${shownName(given.slice(0, 200))}</h1>`,
      content: note(reasonOf(body)),
    });
    const read = () => {
      const chain = Number(memberOf(body, "data.chain_id") ?? frame.chains?.[0]);
      if (status === 200) return pageOf(body, own, { frame, now: timeOfIndex(sources, chain) });
      return status === 404 && missingOf ? missingOf(own) : refused();
    };
    const title = status === 200 && titleOf ? titleOf(given) : given;
    const warning = describeAge(sources);
    const parts = { frame, title: escapeControls(title.slice(0, 100)), warning, read, log };
    return sendPage(c, parts, { status: status as ContentfulStatusCode });
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
        otherOf: (body) => {
          const other = otherForm(given, memberOf(body, "data") as NameRow);
          return other && `/name/${encodeURIComponent(other)}`;
        },
        pageOf: (body, ask, shown) => namePage(memberOf(body, "data") as NameRow, ask, shown),
        missingOf: (ask) => missingName(given, ask),
      });
    })
    .get("/address/:address", (c) =>
      send(c, `/v1/addresses/${partOf(c)}/names?sort=expires_at&include=total_count&page_size=100`, {
        pageOf: addressPage(partOf(c).toLowerCase()),
      }),
    )
    .get("/block/:block", (c) =>
      send(c, `/v1/blocks/${partOf(c)}?include=data,raw`, {
        titleOf: blockTitle,
        pageOf: blockPage(partOf(c)),
      }),
    )
    .get("/transaction/:transaction", (c) => {
      const [chain = "", block = "", transaction = ""] = partOf(c).split(":");
      const path = `/v1/blocks/${chain}:${block}?include=data,raw&transaction_hash=${transaction}`;
      return send(c, path, { titleOf: blockTitle, pageOf: blockPage(partOf(c)) });
    });
}
