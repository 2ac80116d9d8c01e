import type { Hex } from "viem";
import { subnode } from "../ens/ids.ts";
import { keccak256 } from "../ens/keccak.ts";
import { labelsOfNode } from "../ens/names.ts";
import { parsedJson } from "../log/json-log.ts";
import { bareDomain, countSubdomain, expectDomain, findDomain, pickHome, saveDomain } from "./domains.ts";
import { ensureAccount, ensureResolver } from "./events.ts";
import { readTokenUri } from "./node-reads.ts";
import { extendRegistration, startRegistration } from "./registrar.ts";
import { applyNewOwner } from "./registry.ts";
import type { Scope } from "./scope.ts";

// 3DNS keeps DNS names in one token contract on each of two chains; a name may be on both. It has no registry to
// migrate from, no grace period, and one resolver, to which no domain is linked.

/**
 * RegistrationCreated: a name directly under a top-level domain was registered or re-registered. It precedes NewOwner.
 * The event is skipped if `fqdn` (DNS wire format) is not the name of `node`.
 */
export async function applyRegistrationCreated(
  scope: Scope,
  {
    node,
    tld: parentNode,
    fqdn,
    registrant: registrantId,
    expiry: expires,
  }: { node: Hex; tld: Hex; fqdn: Hex; registrant: Hex; expiry: bigint },
): Promise<void> {
  const labels = labelsOfNode({ node, parentNode, fqdn });
  const first = labels?.[0] && keccak256(labels[0]);
  if (labels === undefined || first === undefined) {
    scope.report("malformed-name", scope);
    return;
  }
  const stored = labels.map((bytes) => {
    const labelhash = keccak256(bytes);
    return scope.naming.known(labelhash, bytes.toString("utf8")) ?? scope.naming.unknown(labelhash);
  });
  const [known] = stored;
  await ensureAccount(scope, registrantId);
  const before = await findDomain(scope, node);
  if (before === undefined) await countSubdomain(scope, parentNode, true);
  await saveDomain(scope, before ?? bareDomain(scope, node, true), {
    parentId: parentNode,
    ...pickHome(scope),
    ownerId: registrantId,
    registrantId,
    createdAt: scope.timestamp,
    labelhash: first,
    expiryDate: expires,
    labelName: known?.labelName ?? null,
    name: stored.map(({ part }) => part).join("."),
    unrevealedName: null,
  });
  await startRegistration(scope, { node, labelhash: first, known, registrantId, expires });
}

/** RegistrationExtended: a registration was extended. */
export async function applyRegistrationExtended(
  scope: Scope,
  { node, newExpiry: expires }: { node: Hex; newExpiry: bigint },
): Promise<void> {
  // The plugin runs only outside subgraph mode, where a registration's id is its node.
  await extendRegistration(scope, { node, id: node }, { expires, grace: 0n });
}

/**
 * NewOwner: a domain was created, or got another owner. A missing label comes from the token's metadata, else the label
 * source.
 */
export async function applyDomainCreated(
  scope: Scope,
  { resolver, ...owned }: { parentNode: Hex; labelhash: Hex; owner: Hex; resolver: Hex | undefined },
): Promise<void> {
  const { parentNode, labelhash } = owned;
  const node = subnode(parentNode, labelhash);
  if (resolver !== undefined) await ensureResolver(scope, node, resolver);
  await applyNewOwner(scope, { ...owned, isOldRegistry: false }, async () => {
    const uri = await readTokenUri(scope, node);
    const { naming } = scope;
    return (
      naming.known(labelhash, uri === undefined ? undefined : findLabelInMetadata(uri)) ??
      naming.proven(labelhash, await scope.heal(labelhash))
    );
  });
  await saveDomain(scope, await expectDomain(scope, node, true), pickHome(scope));
}

// The contract gives some tokens the second, malformed prefix.
const prefixes = ["data:application/json;base64,", "data:application/json;_base64,"];

// The first label of the name in a token's metadata; undefined if the metadata is not a document with a name.
function findLabelInMetadata(uri: string): string | undefined {
  const prefix = prefixes.find((text) => uri.startsWith(text));
  if (prefix === undefined) return undefined;
  const metadata = parsedJson(Buffer.from(uri.slice(prefix.length), "base64").toString());
  const { name } = Object(metadata);
  return typeof name === "string" ? name.split(".")[0] : undefined;
}
