/**
 * Tables of events, whose rows never change once their block is indexed, with the column of the block's time (Unix seconds): by it the rows
 * of a former block are told from later ones. Rows of all other tables have versions.
 */
export const timeOfEvents: Readonly<Record<string, string>> = {
  domain_event: "timestamp",
  registration_event: "timestamp",
  resolver_event: "timestamp",
  v2_events: "timestamp",
  reverse_name_events: "timestamp",
  registrar_actions: "timestamp",
  name_sales: "timestamp",
};
