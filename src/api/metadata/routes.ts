import { type Context, Hono } from "hono";
import { type Hex, parseAbi } from "viem";
import { namespaceIds } from "../../deployments/deployment.ts";
import { nodeOfToken, type TokenIssuer } from "../../deployments/namespaces.ts";
import { tokenIdToHex } from "../../ens/ids.ts";
import { labelhashIn, namehash, parentName } from "../../ens/names.ts";
import { HttpError } from "../../http/error.ts";
import { hasTag } from "../../http/etag.ts";
import { createChainReader } from "../../read/resolution/chain-reader.ts";
import { createGatewayReader } from "../../read/resolution/gateway.ts";
import { createLane } from "../../read/sql/client.ts";
import { type ResolveContext, resolvedRecords } from "../ensnode/resolve.ts";
import { type Ask, type ContextOf, requestTo } from "../kit/endpoint.ts";
import { describeRefusal } from "../kit/errors.ts";
import { nameDetail } from "../v1/names.ts";
import { locate } from "./media.ts";
import type { AskMedia, MediaRequest } from "./process.ts";
import { chooseVersion, describeToken, nameOfToken } from "./token.ts";

/**
 * What the paths are served from. `network`: the root chain in paths; `url`: where clients reach the service, if it is
 * set.
 */
export type MetadataSources = {
  network: string;
  url: string | undefined;
  issuers: readonly TokenIssuer[];
  /** Nodes of the names that the token of an ENSv2 registry stands for; undefined where ENSv2 is not indexed. */
  nodesInRegistry: ((registry: Hex, tokenId: Hex, signal: AbortSignal) => Promise<Hex[]>) | undefined;
  resolution: Pick<ResolveContext["resolution"], "clientOf" | "known" | "gatewayLimits">;
  media: AskMedia;
  ask: Ask<ContextOf<typeof nameDetail | typeof resolvedRecords>>;
  clock: () => number;
};

// Requests of all clients that work at a time: a client may have ten resolutions (`resolutionLimits`). Some places are
// for others.
const lane = { concurrency: 10, spare: 6, queue: 256, queuePerClient: 64 };
const imageHeaders = {
  // A record may change with the next block.
  "cache-control": "public, max-age=300",
  "x-content-type-options": "nosniff",
  // An SVG document that is opened by itself runs nothing and loads nothing.
  "content-security-policy":
    "default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'; sandbox",
};

const tokenAbi = parseAbi([
  "function tokenURI(uint256) view returns (string)",
  "function uri(uint256) view returns (string)",
  "function ownerOf(uint256) view returns (address)",
  "function balanceOf(address, uint256) view returns (uint256)",
]);

// CAIP-22 and CAIP-29. As a DID it is `did:nft:eip155:1_erc721:0x…_1`.
const nftForm = /^eip155:(\d{1,15})\/(erc721|erc1155):(0x[0-9a-f]{40})\/(\d{1,78}|0x[0-9a-f]{1,64})$/;

function stop(status: 400 | 404 | 410 | 503 | 508, message: string): never {
  throw new HttpError(status, message, status === 503 ? { headers: { "retry-after": "2" } } : {});
}

/** The paths of ENS's metadata service: images of names and what they are, metadata of tokens and their images. */
export function metadataRoutes(sources: MetadataSources): Hono {
  const { turn } = createLane(lane);
  const inTurn = (run: (sources: MetadataSources, c: Context) => Promise<Response>) => async (c: Context) => {
    if (c.req.header("cdn-loop")?.includes("nsindex")) stop(508, "The record leads back to this service.");
    if (c.req.param("network") !== sources.network) stop(400, `network must be ${sources.network}.`);
    const leave = await turn(String(c.get("client") ?? ""), c.req.raw.signal);
    return run(sources, c).finally(leave);
  };
  const network = `/:network{${[...namespaceIds, sources.network].join("|")}}`;
  const names = `${network}/:key{avatar|header}/:name`;
  const tokens = `${network}/:contract{0x[0-9a-fA-F]{40}}/:token`;
  return new Hono()
    .get(names, inTurn(sendName))
    .get(`${names}/meta`, inTurn(sendNameMetadata))
    .get(tokens, inTurn(sendToken))
    .get(`${tokens}/image`, inTurn(sendTokenImage));
}

async function sendName(sources: MetadataSources, c: Context): Promise<Response> {
  const { asked, nft } = await readMedia(sources, c, param(c, "name"), param(c, "key"));
  // ENSIP-12: a token that the name's address does not own is no avatar.
  if (nft?.is_owner === false) stop(404, "The name's address does not own the token of the record.");
  return sendImage(sources, c, asked);
}

async function sendNameMetadata(sources: MetadataSources, c: Context): Promise<Response> {
  const [uri, key] = [param(c, "name"), param(c, "key")];
  const { asked, nft } = await readMedia(sources, c, uri, key);
  if (nft === undefined) return c.json({ uri, [key === "avatar" ? "image" : key]: publicUrl(asked.uri) });
  const response = await askMedia(sources, c, { ...asked, want: "metadata" });
  const metadata = (await response.json()) as Record<string, unknown>;
  const { image = metadata["image_url"] ?? `${buildBase(sources, c)}/${key}/${uri}` } = metadata;
  return c.json(response.ok ? { ...metadata, image, uri, ...nft } : metadata, response.status as 200 | 404);
}

// For clients, which the operator's gateway may not serve.
function publicUrl(uri: string): string {
  try {
    return locate(uri, "https://ipfs.io").href;
  } catch (error) {
    return stop(404, (error as Error).message);
  }
}

async function sendToken(sources: MetadataSources, c: Context): Promise<Response> {
  const { row, isNameWrapper, tokenId } = await findToken(sources, c);
  const base = buildBase(sources, c);
  const links = { token: `${base}/${param(c, "contract")}/${tokenId}`, avatars: `${base}/avatar` };
  const version = chooseVersion(row, isNameWrapper);
  return c.json(describeToken(row, { tokenId, version, links, now: sources.clock() }));
}

async function sendTokenImage(sources: MetadataSources, c: Context): Promise<Response> {
  const { row, tokenId } = await findToken(sources, c);
  const card = nameOfToken(row, tokenId);
  const found = card.isNormalized
    ? await readMedia(sources, c, row.name, "avatar").catch(unlessBusy)
    : undefined;
  const asked = found?.nft?.is_owner === false ? undefined : found?.asked;
  return sendImage(sources, c, { want: "image", uri: "", ...asked, card });
}

// A name without an avatar has a card without one.
function unlessBusy(error: unknown): undefined {
  if (!(error instanceof HttpError) || error.status === 503) throw error;
}

const param = (c: Context, name: string) => c.req.param(name) ?? "";
const buildBase = ({ url, network }: MetadataSources, c: Context) =>
  `${url ?? new URL(c.req.url).origin}/${network}`;

type Candidate = { node: Hex; tokenId?: Hex; isNameWrapper?: boolean };

/**
 * The name of the token in the path. Ends the request if there is none. `isNameWrapper`: undefined for a registry of
 * ENSv2.
 */
async function findToken(sources: MetadataSources, c: Context) {
  const given = param(c, "token");
  const isName = /^[^.]+(\.[^.]+)+$/.test(given);
  if (!isName && (!/^(\d{1,78}|0x[0-9a-f]{1,64})$/i.test(given) || BigInt(given) >= 2n ** 256n))
    stop(400, "token must be a token id (a decimal number, or 0x and up to 64 hex digits), or its name.");
  const contract = param(c, "contract").toLowerCase() as Hex;
  // Several chains may have a contract at one address.
  const own = sources.issuers.filter(({ address }) => address.toLowerCase() === contract);
  const isOfV2 = own.length === 0;
  const found: Candidate[] = isOfV2
    ? await candidatesOfV2(sources, { contract, given, isName, signal: c.req.raw.signal })
    : own.flatMap((issuer) => {
        const tokenId = isName ? tokenOfName(given, issuer) : tokenIdToHex(BigInt(given));
        if (tokenId === undefined) return [];
        return [{ ...issuer, tokenId, node: nodeOfToken(issuer, BigInt(tokenId)) }];
      });
  for (const { node, isNameWrapper, ...one } of found) {
    const { data: row } = await sources
      .ask(requestTo(nameDetail, { name: node }, {}), c)
      .catch((error: HttpError) =>
        error.status === 404 ? { data: undefined } : stop(503, describeRefusal(error)),
      );
    if (row === undefined) continue;
    const tokenId = one.tokenId ?? tokenIdToHex(BigInt(row.token_id ?? 0));
    const isThere = row.registry_path?.at(-1) === contract && row.token_id === `${BigInt(tokenId)}`;
    if (isOfV2 && !isThere) continue;
    if (row.status === "released") stop(410, "The name has expired, and so has its grace period.");
    return { row, isNameWrapper, tokenId };
  }
  return stop(404, "No results found.");
}

// As ENS's service has it: of a name, a registrar's token is the hash of its first label, another contract's that of
// the whole name.
function tokenOfName(name: string, { managedNode }: TokenIssuer): Hex | undefined {
  if (managedNode === undefined) return namehash(name);
  const parent = parentName(name);
  return namehash(parent) === managedNode ? labelhashIn(name.slice(0, -parent.length - 1)) : undefined;
}

type OfV2 = { contract: Hex; given: string; isName: boolean; signal: AbortSignal };

// Ids of tokens in registries change with roles: that of a name is the one that its row has.
async function candidatesOfV2(
  { nodesInRegistry }: MetadataSources,
  { contract, given, isName, signal }: OfV2,
) {
  if (nodesInRegistry === undefined)
    return stop(400, "contract must be a registrar or name wrapper of this service.");
  if (isName) return [{ node: namehash(given) }];
  const tokenId = tokenIdToHex(BigInt(given));
  return (await nodesInRegistry(contract, tokenId, signal)).map((node) => ({ node, tokenId }));
}

/**
 * What a record of a name leads to; `nft` says of which token, and whether the name's address owns it. Ends the request
 * without one.
 */
async function readMedia(sources: MetadataSources, c: Context, name: string, key: string) {
  const { records } = await sources
    .ask(requestTo(resolvedRecords, { name }, { texts: key, addresses: "60", accelerate: "true" }), c)
    .catch(({ status, message }: HttpError) =>
      status === 400 ? stop(400, "name must be a normalized name (ENSIP-15).") : stop(503, message),
    );
  const record = (records.texts?.[key] ?? "").trim();
  if (record === "") stop(404, `The name has no record ${key}.`);
  const [did = ""] = /^did:nft:/i.exec(record) ?? [];
  const token = did ? record.slice(did.length).replaceAll("_", "/") : record;
  const [, chain, namespace = "", contract = "", id = ""] = nftForm.exec(token.toLowerCase()) ?? [];
  if (chain === undefined) return { asked: { want: "image", uri: record } satisfies MediaRequest };
  const host_meta = {
    ...{ chain_id: Number(chain), namespace, contract_address: contract, token_id: id },
    reference_url: `https://opensea.io/assets/${contract}/${id}`,
  };
  const { uri, is_owner } = await readToken(sources, c, host_meta, records.addresses?.["60"] ?? null);
  const asked = { want: "image", uri, token: tokenIdToHex(BigInt(id)).slice(2) } satisfies MediaRequest;
  return { asked, nft: { host_meta, is_owner } };
}

type HostMeta = { chain_id: number; namespace: string; contract_address: string; token_id: string };

async function readToken({ resolution }: MetadataSources, c: Context, token: HostMeta, owner: string | null) {
  const { clientOf, known, gatewayLimits } = resolution;
  const { chain_id: chainId, contract_address, token_id } = token;
  if (clientOf(chainId) === undefined) stop(404, `The chain of the token, ${chainId}, is not indexed here.`);
  const { signal } = c.req.raw;
  const askGateways = createGatewayReader(gatewayLimits, signal);
  const reader = createChainReader({ clientOf, known, askGateways, signal });
  const call = (functionName: string, ...args: unknown[]) =>
    reader
      .read(chainId, contract_address as Hex, { abi: tokenAbi, functionName, args } as never)
      .catch((error: Error) => stop(503, error.message));
  const id = BigInt(token_id);
  const isSingle = token.namespace === "erc721";
  const held = isSingle ? call("ownerOf", id) : owner === null ? 0n : call("balanceOf", owner, id);
  const [uri, holding] = await Promise.all([call(isSingle ? "tokenURI" : "uri", id), held]);
  if (typeof uri !== "string" || uri === "") return stop(404, "The token has no metadata.");
  const is_owner = isSingle
    ? String(holding).toLowerCase() === owner?.toLowerCase()
    : BigInt(`${holding ?? 0}`) > 0n;
  return { uri, is_owner };
}

async function askMedia({ media }: MetadataSources, c: Context, asked: MediaRequest): Promise<Response> {
  return (await media(asked, c.req.raw.signal)) ?? stop(503, "Images are not available now.");
}

async function sendImage(sources: MetadataSources, c: Context, asked: MediaRequest): Promise<Response> {
  const response = await askMedia(sources, c, asked);
  if (!response.ok) return c.json(await response.json(), response.status as 404 | 504);
  const of = (name: string) => response.headers.get(name) ?? "";
  const [type, length, etag] = ["content-type", "content-length", "etag"].map(of) as [string, string, string];
  const headers = { ...imageHeaders, etag, "content-type": type, "content-length": length };
  if (!hasTag(c.req.header("if-none-match"), etag)) return c.newResponse(response.body, 200, headers);
  await response.body?.cancel();
  return c.body(null, 304, { ...imageHeaders, etag });
}
