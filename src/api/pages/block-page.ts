import { html } from "hono/html";
import { askRows, type PageAsk, readPrimaryNames } from "./ask.ts";
import {
  asked,
  count,
  explored,
  facts,
  hash,
  memberOf,
  moment,
  note,
  place,
  type Shown,
  section,
} from "./layout.ts";
import { type Action, activityTable, type Entry } from "./sentences.ts";
import { shortHex, titleOfChain } from "./words.ts";

/** The title of the page of a block, `<chain>:<block>`, or of a transaction, `<chain>:<block>:<hash>`. */
export function blockTitle(given: string): string {
  const [, block, transaction] = given.split(":");
  if (transaction === undefined) return `Block ${count(Number(block))}`;
  return `Transaction ${shortHex(transaction.toLowerCase())}`;
}

/** The page of a block, `<chain>:<block>`, or of a transaction in it, `<chain>:<block>:<hash>`: what happened to names. */
export const blockPage =
  (given: string) =>
  async (body: unknown, ask: PageAsk, { frame, now }: Shown) => {
    const [chain = "", block = "", transaction = null] = given.split(":");
    const entries = (memberOf(body, "data") as Entry[]).toReversed();
    const [first] = entries;
    const bought = `/api/registrar-actions?beginTimestamp=${first?.timestamp}&endTimestamp=${first?.timestamp}`;
    const actions = first === undefined ? [] : ((await askRows(ask, bought, "registrarActions")) as Action[]);
    const own = actions.filter(({ action }) =>
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
      ["Block", hex === null ? undefined : place(view, { ...at, transaction: null })],
      ["Transaction", hex === null ? undefined : hash(hex)],
      ["Time", first?.timestamp ? moment(view, Number(first.timestamp)) : undefined],
    ]);
    const activity = { entries, actions: own, isWhole: true, hasNames: true };
    const path = `/v1/blocks/${at.chain}:${at.block}?include=data,raw${at.transaction === null ? "" : `&transaction_hash=${at.transaction}`}`;
    const list = section(
      "Name events",
      html`${activityTable(view, "Name events", activity)}${asked(path)}`,
      count(entries.length),
    );
    const none = note("No name events are indexed here.");
    const heading = html`<h1>${blockTitle(given)}</h1>`;
    return { heading, content: html`${about}${entries.length > 0 ? list : none}` };
  };
