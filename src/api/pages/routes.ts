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
import { drawCard } from "./card.ts";
import { note, type Shown, shownName } from "./components.ts";
import { type Frame, type Page, sendPage } from "./frame.ts";
import { describeName, missingName, namePage, requestOfName } from "./name-page.ts";

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
  /** What the page says in a sentence, and the path of a picture of it. */
  cardOf?: (body: Body) => { description: string; image?: string };
  /** The path of another page that was meant, from the first reply. */
  otherOf?: (body: Body) => string | undefined;
  /** The chain by whose newest block times are shown; the root chain without it. */
  chainOf?: (body: Body) => number | undefined;
  pageOf: (body: Body, ask: PageAsk, shown: Shown) => Promise<Page>;
  missingOf?: (ask: PageAsk, shown: Shown) => Promise<Page>;
};

// An SVG document that is opened by itself runs nothing and loads nothing.
const cardHeaders = {
  "content-type": "image/svg+xml",
  "cache-control": "public, max-age=300",
  "content-security-policy": "default-src 'none'; img-src data:; sandbox",
};

type NamePart = {
  title: string;
  read: () => Promise<Page>;
  status?: ContentfulStatusCode;
  card?: { description: string; image?: string } | undefined;
};

// Only a page that is there has a place for search engines, and a card.
function sendNamePage(
  c: Context,
  sources: PageSources,
  { frame, title, read, status = 200, card }: NamePart & { frame: Frame },
): Response {
  const { pathname, origin } = new URL(c.req.url);
  const { description, image } = card ?? {};
  const own = {
    path: pathname,
    description: description && escapeControls(description.slice(0, 300)),
    image: image && `${sources.url ?? origin}${image}`,
  };
  const warning = describeAge(sources);
  const page = { frame, title: escapeControls(title.slice(0, 100)), warning, read, log: sources.log };
  return sendPage(c, { ...page, ...(status === 200 && own) }, { status });
}

// Sends what a request leads to; a page whose first request fails shows why.
const createNameSender =
  (sources: PageSources, frame: Frame) =>
  async <E extends Endpoint<PageContext>>(
    c: Context,
    request: EndpointRequest<E>,
    { titleOf, cardOf, otherOf, chainOf, pageOf, missingOf }: PageParts<BodyOf<E>>,
  ) => {
    const ask: PageAsk = (request) => sources.ask(request, c);
    const given = decodePart(readSegment(c));
    const shownAt = (chain: number | undefined): Shown => ({ frame, now: timeOfIndex(sources, chain) });
    const sendPart = (part: NamePart) => sendNamePage(c, sources, { frame, ...part });
    try {
      const body = await ask(request);
      const other = otherOf?.(body);
      if (other !== undefined) return c.redirect(other);
      const shown = shownAt(chainOf?.(body) ?? frame.chains?.[0]);
      const read = () => pageOf(body, ask, shown);
      return sendPart({ title: titleOf?.(given) ?? given, read, card: cardOf?.(body) });
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      const { status } = error;
      if (status === 404 && missingOf)
        return sendPart({ status, title: given, read: () => missingOf(ask, shownAt(frame.chains?.[0])) });
      const heading = html`<h1>${shownName(given.slice(0, 200))}</h1>`;
      const read = async () => ({ heading, content: note(describeRefusal(error)) });
      return sendPart({ status, title: given, read });
    }
  };

/**
 * GET /name/…, /address/…, /block/… and /transaction/… show REST responses as pages; GET /name?name= redirects to one
 * of them.
 */
export function nameRoutes(sources: PageSources, frame: Frame): Hono {
  const send = createNameSender(sources, frame);
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
        cardOf: ({ data }) => ({
          description: describeName(data),
          image: `/card/${encodeURIComponent(data.name)}`,
        }),
        pageOf: ({ data }, ask, shown) =>
          namePage(data, ask, { ...shown, cursor: c.req.query("cursor"), priceOf: sources.priceOf }),
        missingOf: (ask, shown) => missingName(given, ask, { ...shown, priceOf: sources.priceOf }),
      });
    })
    .get("/card/:name", async (c) => {
      const { data } = await sources.ask(requestOfName(c.req.param("name")), c);
      return c.body(await drawCard(data, frame.site.title), 200, cardHeaders);
    })
    .get("/address/:address", (c) => {
      const address = c.req.param("address").toLowerCase();
      return send(c, requestOfAddress(address), {
        cardOf: () => ({ description: `Names of ${address}, when they end, and what it did with them.` }),
        pageOf: (body, ask, shown) =>
          addressPage(address, body, ask, { ...shown, cursor: c.req.query("cursor") }),
      });
    })
    .get("/block/:block", (c) => sendBlock(c, requestOfBlock))
    .get("/transaction/:transaction", (c) => sendBlock(c, requestOfTransaction));
}
