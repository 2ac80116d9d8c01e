import { html } from "hono/html";
import { registrarActions } from "../ensnode/registrar-actions.ts";
import { type BodyOf, type EndpointRequest, requestTo } from "../kit/endpoint.ts";
import { blockHistory } from "../v1/history.ts";
import { askRows, type PageAsk, readPrimaryNames } from "./ask.ts";
import { count, explored, facts, moment, note, place, type Shown, section } from "./components.ts";
import type { Page } from "./frame.ts";
import { activityList } from "./sentences.ts";
import { shortHex, titleOfChain } from "./words.ts";

/** The title of the page of a block, `<chain>:<block>`, or of a transaction, `<chain>:<block>:<hash>`. */
export function blockTitle(given: string): string {
  const [, block, transaction] = given.split(":");
  if (transaction === undefined) return `Block ${count(Number(block))}`;
  return `Transaction ${shortHex(transaction.toLowerCase())}`;
}

type BlockRequest = EndpointRequest<typeof blockHistory>;

/** The request for what happened in a block, `<chain>:<block>`. */
export const requestOfBlock = (block: string): BlockRequest =>
  requestTo(blockHistory, { block }, { include: "data,raw" });

/** The request for what happened in a transaction, `<chain>:<block>:<hash>`. */
export function requestOfTransaction(given: string): BlockRequest {
  const [chain = "", block = "", hash] = given.split(":");
  const { endpoint, params, query } = requestOfBlock(`${chain}:${block}`);
  const ofOne = hash === undefined ? {} : { transaction_hash: hash.toLowerCase() };
  return { endpoint, params, query: { ...query, ...ofOne } };
}

/** The page of such a block or transaction, from the reply to `request`: what happened to names. */
export async function blockPage(
  given: string,
  { request, data: entries }: { request: BlockRequest; data: BodyOf<typeof blockHistory>["data"] },
  ask: PageAsk,
  { frame, now }: Shown,
): Promise<Page> {
  const [chain = "", block = "", transaction = null] = given.split(":");
  const [first] = entries;
  const time = String(first?.timestamp);
  const bought = requestTo(registrarActions[0], {}, { beginTimestamp: time, endTimestamp: time });
  const actions = first && (await askRows(ask, bought, (body) => body.registrarActions));
  const own = (actions ?? []).filter(({ action }) =>
    entries.some((one) => one.transaction_hash === action.transactionHash),
  );
  const view = { frame, now, primaries: await readPrimaryNames([entries, own], ask) };
  const at = {
    chain: Number(chain),
    block: Number(block),
    transaction: transaction?.toLowerCase() ?? null,
  };
  const hex = at.transaction;
  const outside = explored(view, at.chain, hex === null ? `block/${at.block}` : `tx/${hex}`);
  const about = facts([
    ["Chain", html`${titleOfChain(at.chain)}${outside}`],
    ["Block", hex === null ? html`${count(at.block)}` : place(view, { ...at, transaction: null })],
    ["Time", first?.timestamp ? moment(view, Number(first.timestamp)) : undefined],
    ["Transaction", hex === null ? undefined : html`<code class="whole" data-copy="${hex}">${hex}</code>`],
  ]);
  const beside = hex === null && [at.block - 1, at.block + 1].filter((number) => number >= 0);
  const around =
    beside &&
    html`<nav class="pager" aria-label="Blocks around">${beside.map((number) => html`<a href="/block/${at.chain}:${number}">Block ${count(number)}</a>`)}</nav>`;
  const activity = { entries, actions: own, isWhole: true, hasNames: true };
  const events = activityList(view, "Name events", activity);
  const list =
    entries.length > 0
      ? section("Name events", events, { beside: count(entries.length), request })
      : note("No name events are indexed here.");
  const heading = html`<h1>${blockTitle(given)}</h1>`;
  return { heading, content: html`<div class="card">${about}</div>${list}${around}` };
}
