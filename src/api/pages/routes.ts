import { type Context, Hono } from "hono";
import { html } from "hono/html";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { isNode, readName } from "../../ens/given-names.ts";
import { HttpError } from "../../http/error.ts";
import { escapeControls } from "../../log/json-log.ts";
import type { NameRow } from "../../read/names/rows.ts";
import type { BodyOf, Endpoint, EndpointRequest } from "../kit/endpoint.ts";
import { describeRefusal } from "../kit/errors.ts";
import { addressPage, requestOfAddress } from "./address-page.ts";
import { describeAge, timeOfIndex } from "./age.ts";
import type { PageAsk, PageContext, PageSources } from "./ask.ts";
import { blockPage, blockTitle, requestOfBlock, requestOfTransaction } from "./block-page.ts";
import { type Frame, note, type Page, type Shown, sendPage, shownName } from "./layout.ts";
import { missingName, namePage, requestOfName } from "./name-page.ts";

// The pages for browsers: status, names, addresses, blocks and figures. What they say of names is what REST endpoints
// respond.

// The segment as it was sent, so that no text is decoded twice.
const readSegment = (c: Context) => new URL(c.req.url).pathname.split("/")[2] ?? "";

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// The name that a request meant, if it wrote it otherwise than the index has it.
function findOtherForm(given: string, row: NameRow): string | undefined {
  if (isNode(given)) return undefined;
  const read = readName(given);
  const isMeant = "name" in read && read.node === row.namehash && read.name === row.name;
  return isMeant && given !== row.name ? row.name : undefined;
}

type PageParts<Body> = {
  titleOf?: (given: string) => string;
  /** The path of another page that was meant, from the first reply. */
  otherOf?: (body: Body) => string | undefined;
  /** The chain by whose newest block times are shown; the root chain without it. */
  chainOf?: (body: Body) => number | undefined;
  pageOf: (body: Body, ask: PageAsk, shown: Shown) => Promise<Page>;
  missingOf?: (ask: PageAsk) => Promise<Page>;
};

/**
 * GET /name/…, /address/…, /block/… and /transaction/… show REST responses as pages; GET /name?name= redirects to one
 * of them.
 */
export function nameRoutes(sources: PageSources, frame: Frame): Hono {
  const { log } = sources;
  // A page whose first request fails shows why.
  const send = async <E extends Endpoint<PageContext>>(
    c: Context,
    request: EndpointRequest<E>,
    { titleOf, otherOf, chainOf, pageOf, missingOf }: PageParts<BodyOf<E>>,
  ) => {
    const ask: PageAsk = (request) => sources.ask(request, c);
    const given = decodePart(readSegment(c));
    const sendPart = (status: ContentfulStatusCode, title: string, read: () => Promise<Page>) => {
      const warning = describeAge(sources);
      const parts = { frame, title: escapeControls(title.slice(0, 100)), warning, read, log };
      return sendPage(c, parts, { status });
    };
    try {
      const body = await ask(request);
      const other = otherOf?.(body);
      if (other !== undefined) return c.redirect(other);
      const now = timeOfIndex(sources, chainOf?.(body) ?? frame.chains?.[0]);
      return sendPart(200, titleOf?.(given) ?? given, () => pageOf(body, ask, { frame, now }));
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      if (error.status === 404 && missingOf) return sendPart(404, given, () => missingOf(ask));
      const heading = html`<h1>${shownName(given.slice(0, 200))}</h1>`;
      return sendPart(error.status, given, async () => ({ heading, content: note(describeRefusal(error)) }));
    }
  };
  const sendBlock = (c: Context, requestOf: typeof requestOfBlock) => {
    const given = decodePart(readSegment(c));
    const request = requestOf(given);
    return send(c, request, {
      titleOf: blockTitle,
      pageOf: ({ data }, ask, shown) => blockPage(given, { request, data }, ask, shown),
    });
  };
  return new Hono()
    .get("/name", (c) => {
      const given = c.req.query("name")?.trim() ?? "";
      const folder = /^0x[0-9a-f]{40}$/i.test(given) ? "address" : "name";
      return c.redirect(`/${folder}/${encodeURIComponent(given)}`);
    })
    .get("/name/:name", (c) => {
      const given = decodePart(readSegment(c));
      return send(c, requestOfName(c.req.param("name")), {
        otherOf: ({ data }) => {
          const other = findOtherForm(given, data);
          return other && `/name/${encodeURIComponent(other)}`;
        },
        chainOf: ({ data }) => data.chain_id,
        pageOf: ({ data }, ask, shown) => namePage(data, ask, shown),
        missingOf: (ask) => missingName(given, ask),
      });
    })
    .get("/address/:address", (c) => {
      const address = c.req.param("address").toLowerCase();
      return send(c, requestOfAddress(address), {
        pageOf: (body, ask, shown) => addressPage(address, body, ask, shown),
      });
    })
    .get("/block/:block", (c) => sendBlock(c, requestOfBlock))
    .get("/transaction/:transaction", (c) => sendBlock(c, requestOfTransaction));
}
