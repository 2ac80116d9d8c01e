/** Seconds after a registration's expiry in which only its holder may renew it: 90 days. */
export const gracePeriod = 7_776_000n;
