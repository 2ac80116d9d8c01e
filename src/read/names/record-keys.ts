import { agentKeys, agentKeysInHex, hexOfText } from "../../ens/record-values.ts";
import type { IndexedNamespace } from "./indexed-namespaces.ts";
import { type Branch, beginsWith, byName } from "./lists.ts";
import type { Binder } from "./source.ts";
import { nameOfNode, secondGeneration } from "./stored-name.ts";
import { isCurrentRecord } from "./v2-records.ts";

/**
 * A record that listed names have: a text record whose key begins with a text, which itself begins with `agentKeys`, or
 * with a class, or the proof of an account.
 */
export type RecordCondition = { prefix: string } | { class: string } | { account: string };

/** Names whose resolver has such a record. */
export function namesByRecord(
  namespaces: readonly IndexedNamespace[],
  { bind }: Binder,
  condition: RecordCondition,
): Branch {
  const [ofNode, ofRecordId] = buildConditions(bind, condition);
  const table = "account" in condition ? "resolver_data_records" : "resolver_text_records";
  const ofNodes = `SELECT t.chain_id, t.address, t.node FROM ${table} t WHERE ${ofNode()}`;
  const ofRecordIds =
    () => `SELECT l.chain_id, l.resolver, l.node FROM v2_records r JOIN v2_record_links l USING (chain_id, resolver, record_id)
    WHERE ${ofRecordId()} AND r.value <> '0x' AND ${isCurrentRecord("r")}`;
  const found = secondGeneration(namespaces) === undefined ? ofNodes : `${ofNodes} UNION ${ofRecordIds()}`;
  return {
    from: `(SELECT DISTINCT t.* FROM (${found}) t) t ${nameOfNode(namespaces, "t.node")}`,
    where: "true",
    derived: ["names.resolver = t.address AND names.chain = t.chain_id", "NOT names.is_unresolvable"],
    order: byName,
  };
}

// The condition on rows `t` by nodes, and on rows `r` by record ids.
function buildConditions(bind: Binder["bind"], condition: RecordCondition) {
  const equals = (column: string, value: string) => `${column} = ${bind(value)}::text COLLATE "C"`;
  if ("account" in condition) {
    const { account } = condition;
    return [() => equals("t.account", account), () => equals("r.account", account)] as const;
  }
  const isText = "r.kind = 'text'";
  if ("prefix" in condition) {
    const { prefix } = condition;
    return [
      () => `t.key LIKE '${agentKeys}%' AND ${beginsWith(bind, prefix)("t.key")}`,
      () =>
        `${isText} AND r.key LIKE '${agentKeysInHex}%' AND ${beginsWith(bind, hexOfText(prefix))("r.key")}`,
    ] as const;
  }
  // ENSIP-27. A class has at most 100 letters, so the part that is indexed is all of it.
  const { class: kind } = condition;
  return [
    () => `t.key = 'class' AND ${equals("left(t.value, 256)", kind)}`,
    () =>
      `${isText} AND r.key = '${hexOfText("class")}' AND ${equals("left(r.value, 256)", hexOfText(kind))}`,
  ] as const;
}
