// Opaque tags may contain commas.
const opaqueTag = /"[^"]*"/g;

/**
 * Whether the value of `If-None-Match` has the entity tag of a response, so that the client needs no body (RFC 9110,
 * 13.1.2): by the weak comparison, where `W/` makes no difference. `*` has each tag.
 */
export function hasTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const [wanted] = tag.match(opaqueTag) ?? [];
  return ifNoneMatch.trim() === "*" || (ifNoneMatch.match(opaqueTag) ?? []).some((one) => one === wanted);
}
