/**
 * What the label clients of this process have done so far, for a metrics endpoint to show.
 * Counters only rise; `waiting` is the number of heals that an outage holds up right now.
 */
export const labelCounters = {
  healed: 0,
  unknown: 0,
  cacheHits: 0,
  requests: 0,
  retries: 0,
  outages: 0,
  waiting: 0,
  mismatches: 0,
};
