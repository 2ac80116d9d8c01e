import { agentKeys, agentKeysInHex, hexOfText } from "../../ens/record-values.ts";
import type { IndexedNamespace } from "./indexed-namespaces.ts";
import { type Branch, beginsWith, byName } from "./lists.ts";
import type { Binder } from "./source.ts";
import { nameOfNode, secondGeneration } from "./stored-name.ts";
import { isCurrentRecord } from "./v2-records.ts";

/**
 * What a text record of listed names has: a key that begins with a text, which itself begins with `agentKeys`, or a
 * class.
 */
export type RecordCondition = { prefix: string } | { class: string };

/** Names whose resolver has such a text record. */
export function namesByRecord(
  namespaces: readonly IndexedNamespace[],
  { bind }: Binder,
  condition: RecordCondition,
): Branch {
  const [ofNode, ofRecordId] = "prefix" in condition ? keyed(bind, condition) : classed(bind, condition);
  const ofNodes = `SELECT t.chain_id, t.address, t.node FROM resolver_text_records t WHERE ${ofNode()}`;
  const ofRecordIds =
    () => `SELECT l.chain_id, l.resolver, l.node FROM v2_records r JOIN v2_record_links l USING (chain_id, resolver, record_id)
    WHERE r.kind = 'text' AND ${ofRecordId()} AND r.value <> '0x' AND ${isCurrentRecord("r")}`;
  const found = secondGeneration(namespaces) === undefined ? ofNodes : `${ofNodes} UNION ${ofRecordIds()}`;
  return {
    from: `(SELECT DISTINCT t.* FROM (${found}) t) t ${nameOfNode(namespaces, "t.node")}`,
    where: "true",
    derived: ["names.resolver = t.address AND names.chain = t.chain_id", "NOT names.is_unresolvable"],
    order: byName,
  };
}

const keyed = (bind: Binder["bind"], { prefix }: { prefix: string }) =>
  [
    () => `t.key LIKE '${agentKeys}%' AND ${beginsWith(bind, prefix)("t.key")}`,
    () => `r.key LIKE '${agentKeysInHex}%' AND ${beginsWith(bind, hexOfText(prefix))("r.key")}`,
  ] as const;

// ENSIP-27. A class has at most 100 letters, so the part that is indexed is all of it.
const classed = (bind: Binder["bind"], { class: value }: { class: string }) =>
  [
    () => `t.key = 'class' AND left(t.value, 256) = ${bind(value)}::text COLLATE "C"`,
    () =>
      `r.key = '${hexOfText("class")}' AND left(r.value, 256) = ${bind(hexOfText(value))}::text COLLATE "C"`,
  ] as const;
