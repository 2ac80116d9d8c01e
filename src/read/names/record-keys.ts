import { agentKeys, agentKeysInHex, hexOfText } from "../../ens/record-values.ts";
import type { IndexedNamespace } from "./indexed-namespaces.ts";
import { type Branch, beginsWith, byName } from "./lists.ts";
import type { Binder } from "./source.ts";
import { nameOfNode, secondGeneration } from "./stored-name.ts";
import { isCurrentRecord } from "./v2-records.ts";

/** Names whose resolver has a text record with a key that begins with a text, which itself begins with `agentKeys`. */
export function namesByRecordKey(
  namespaces: readonly IndexedNamespace[],
  { bind }: Binder,
  prefix: string,
): Branch {
  const ofNodes = `SELECT t.chain_id, t.address, t.node FROM resolver_text_records t
    WHERE t.key LIKE '${agentKeys}%' AND ${beginsWith(bind, prefix)("t.key")}`;
  const ofRecordIds =
    () => `SELECT l.chain_id, l.resolver, l.node FROM v2_records r JOIN v2_record_links l USING (chain_id, resolver, record_id)
    WHERE r.kind = 'text' AND r.key LIKE '${agentKeysInHex}%' AND ${beginsWith(bind, hexOfText(prefix))("r.key")}
    AND r.value <> '0x' AND ${isCurrentRecord("r")}`;
  const found = secondGeneration(namespaces) === undefined ? ofNodes : `${ofNodes} UNION ${ofRecordIds()}`;
  return {
    from: `(SELECT DISTINCT t.* FROM (${found}) t) t ${nameOfNode(namespaces, "t.node")}`,
    where: "true",
    derived: ["names.resolver = t.address AND names.chain = t.chain_id", "NOT names.is_unresolvable"],
    order: byName,
  };
}
