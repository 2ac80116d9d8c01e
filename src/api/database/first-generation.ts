import { zeroAddress } from "../../ens/ids.ts";
import { parentCannotControl } from "../../ens/registrations.ts";

// What the first generation says of a name, by the rules of docs/names.md.

/** What the rules depend on, as SQL: the time, the grace period (seconds), and whether the name is leased below its parent. */
export type FirstGenerationInputs = {
  now: string;
  grace: string;
  isManaged: string;
  /** Condition that an address is the name wrapper of the name's chain. */
  isWrapper: (address: string) => string;
};

/**
 * Joins to `domain d`, all columns of which may be null: `lease`, its registration, `wrapped`, its wrapper entry with the expiry that
 * counts, and `of_v1` with is_lease, is_wrapped, is_emancipated, is_lapsed, expires, grace_ends, status, owner and manager. Each step is
 * computed once for a row: `OFFSET 0` keeps the planner from writing it out at each of its uses. A name without a registrant has no
 * registration, one without a wrapped owner no entry of the wrapper: nothing is looked up.
 */
export function firstGenerationJoins({ now, grace, isManaged, isWrapper }: FirstGenerationInputs): string {
  return `
LEFT JOIN LATERAL (SELECT registration_date, expiry_date, registrant_id FROM registration WHERE domain_id = d.id AND d.registrant_id IS NOT NULL LIMIT 1) lease ON true
LEFT JOIN LATERAL (SELECT id, fuses, owner_id, greatest(expiry_date, renewed_expiry_date) AS expiry_date
  FROM wrapped_domain WHERE id = d.id AND d.wrapped_owner_id IS NOT NULL LIMIT 1) wrapped ON true
CROSS JOIN LATERAL (SELECT lease.expiry_date IS NOT NULL AS is_lease,
  coalesce(wrapped.id IS NOT NULL AND ${isWrapper("d.owner_id")} AND (NOT ${isManaged} OR ${isWrapper("d.registrant_id")}), false) AS is_wrapped,
  coalesce((wrapped.fuses & ${parentCannotControl}) <> 0, false) AS is_emancipated OFFSET 0) kind
CROSS JOIN LATERAL (SELECT kind.is_wrapped AND kind.is_emancipated AND wrapped.expiry_date < ${now} AS is_lapsed,
  CASE WHEN kind.is_lease THEN lease.expiry_date WHEN kind.is_wrapped THEN wrapped.expiry_date END AS expires,
  CASE WHEN kind.is_lease THEN lease.expiry_date + ${grace} WHEN kind.is_wrapped THEN wrapped.expiry_date END AS grace_ends,
  CASE WHEN kind.is_lease THEN CASE WHEN ${now} < lease.expiry_date THEN 'active'
      WHEN ${grace} > 0 AND ${now} <= lease.expiry_date + ${grace} THEN 'expired' ELSE 'released' END
    WHEN kind.is_wrapped THEN CASE WHEN kind.is_emancipated AND ${now} > wrapped.expiry_date THEN 'released' ELSE 'active' END
    WHEN d.owner_id <> '${zeroAddress}' THEN 'active' ELSE 'unregistered' END AS status OFFSET 0) life
CROSS JOIN LATERAL (SELECT kind.*, life.*,
  CASE WHEN life.status = 'released' OR life.is_lapsed THEN NULL WHEN kind.is_wrapped THEN wrapped.owner_id
    WHEN kind.is_lease AND ${isManaged} THEN CASE WHEN ${isWrapper("d.registrant_id")} THEN NULL ELSE nullif(d.registrant_id, '${zeroAddress}') END
    ELSE nullif(d.owner_id, '${zeroAddress}') END AS owner,
  CASE WHEN life.status = 'released' OR life.is_lapsed OR (kind.is_wrapped AND kind.is_lease AND life.status = 'expired') THEN NULL
    WHEN kind.is_wrapped THEN wrapped.owner_id ELSE nullif(d.owner_id, '${zeroAddress}') END AS manager OFFSET 0) of_v1`;
}
