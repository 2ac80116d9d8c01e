/**
 * Tables of events, whose rows never change once their block is indexed. Their `timestamp` (Unix seconds) and
 * `block_number` tell the rows of a former block from later ones. Rows of all other tables have versions.
 */
export const tablesOfEvents: ReadonlySet<string> = new Set([
  ...["domain_event", "registration_event", "resolver_event", "v2_events", "reverse_name_events"],
  ...["registrar_actions", "name_sales"],
]);
