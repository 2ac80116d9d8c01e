import { Hono } from "hono";
import { decodeFunctionData, encodeFunctionResult, type Hex, parseAbi } from "viem";
import { expect, test } from "vitest";
import { chainOf } from "../../../test/support/endpoints.ts";
import { namespaces, tokenIssuers } from "../../deployments/namespaces.ts";
import { labelhash } from "../../ens/labels.ts";
import { namehash } from "../../ens/names.ts";
import { HttpError } from "../../http/error.ts";
import type { NameRow } from "../../read/names/rows.ts";
import { buildLink } from "../kit/endpoint.ts";
import { errorResponse } from "../kit/errors.ts";
import type { MediaRequest } from "./process.ts";
import { metadataRoutes } from "./routes.ts";

// Mainnet's (docs.ens.domains, deployments).
const registrar = "0x57f1887a8BF19b14fC0dF6Fd9B2acc9Af147eA85";
const wrapper = "0xD4416b13d2b3a9aBae7AcD5D6C2BbDBE25686401";
const owner = "0x00000000000000000000000000000000000000aa";
const nft = "0x00000000000000000000000000000000000000bb";
const abi = parseAbi([
  "function tokenURI(uint256) view returns (string)",
  "function uri(uint256) view returns (string)",
  "function ownerOf(uint256) view returns (address)",
  "function balanceOf(address, uint256) view returns (uint256)",
]);

// As the process answers.
const image = (body: string, type: string) =>
  new Response(body, {
    headers: { "content-type": type, "content-length": String(body.length), etag: '"e"' },
  });

type World = {
  /** Records by name; a number is the status of the resolution instead. */
  records?: Record<string, Record<string, string> | number>;
  rows?: Record<string, Partial<NameRow>>;
  tokens?: { uri: string; owner: Hex; balance: bigint };
  answer?: (asked: MediaRequest) => Response | undefined;
  url?: string;
  nodesInRegistry?: (registry: Hex, tokenId: Hex) => Promise<Hex[]>;
};

function open({
  records = {},
  rows = {},
  tokens,
  nodesInRegistry,
  answer = () => image("image", "image/png"),
  url,
}: World) {
  const asked: MediaRequest[] = [];
  const { resolution } = chainOf(({ data }) => {
    const { functionName } = decodeFunctionData({ abi, data });
    if (tokens === undefined) throw new Error("connect ECONNREFUSED");
    if (functionName === "ownerOf") return encodeFunctionResult({ abi, functionName, result: tokens.owner });
    if (functionName === "balanceOf")
      return encodeFunctionResult({ abi, functionName, result: tokens.balance });
    return encodeFunctionResult({ abi, functionName, result: tokens.uri });
  });
  const app = new Hono().onError((error, c) => errorResponse(error, c, () => undefined));
  const routes = metadataRoutes({
    ...{ network: "mainnet", url, resolution },
    issuers: tokenIssuers(namespaces.mainnet),
    nodesInRegistry,
    media: async (one) => {
      asked.push(one);
      return answer(one);
    },
    ask: async (request) => {
      const { pathname, searchParams } = new URL(buildLink(request), "http://localhost");
      const last = decodeURIComponent(pathname.split("/").at(-1) ?? "");
      if (pathname.startsWith("/v1/")) {
        const data = rows[last];
        if (data === undefined) throw new HttpError(404, "The index has never seen this name");
        return { data } as never;
      }
      const found = records[last] ?? {};
      if (typeof found === "number") throw new HttpError(found as 400, "Away.");
      const texts = { [searchParams.get("texts") ?? ""]: found[searchParams.get("texts") ?? ""] ?? null };
      return { records: { texts, addresses: { 60: found["60"] ?? null } } } as never;
    },
    clock: () => 1_700_000_000_000,
  });
  app.route("/", routes);
  app.all("*", (c) => c.json({ message: "Not Found" }, 404));
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const response = await app.request(path, { headers });
    const type = response.headers.get("content-type") ?? "";
    const text = await response.text();
    const body = type.includes("json") ? JSON.parse(text) : text;
    return { status: response.status, headers: response.headers, body };
  };
  return { get, asked };
}

test("an avatar is sent with headers that let nothing run, and again only if it changed", async () => {
  const records = { "a.eth": { avatar: " https://a.example/x.png ", header: "ipfs://QmX" } };
  const answer = () => image("<svg/>", "image/svg+xml");
  const { get, asked } = open({ records, answer });
  const { status, body, headers } = await get("/mainnet/avatar/a.eth");
  expect([status, body]).toEqual([200, "<svg/>"]);
  expect(Object.fromEntries(headers)).toMatchObject({
    "content-type": "image/svg+xml",
    "x-content-type-options": "nosniff",
    "content-security-policy":
      "default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'; sandbox",
    "cache-control": "public, max-age=300",
  });
  const etag = headers.get("etag") ?? "";
  expect(etag).toBe('"e"');
  expect((await get("/mainnet/avatar/a.eth", { "if-none-match": `W/"x", ${etag}` })).status).toBe(304);
  expect((await get("/mainnet/header/a.eth")).status).toBe(200);
  expect(asked.map(({ uri }) => uri)).toEqual([
    "https://a.example/x.png",
    "https://a.example/x.png",
    "ipfs://QmX",
  ]);
});

test("what a record is: its URL for clients", async () => {
  const { get } = open({ records: { "a.eth": { avatar: "ipfs://QmX/1", header: "javascript:alert(1)" } } });
  expect((await get("/mainnet/avatar/a.eth/meta")).body).toEqual({
    uri: "a.eth",
    image: "https://ipfs.io/ipfs/QmX/1",
  });
  expect((await get("/mainnet/header/a.eth/meta")).status).toBe(404);
});

test.each([
  ["/mainnet/avatar/none.eth", 404, "The name has no record avatar."],
  ["/mainnet/avatar/none.eth/meta", 404, "The name has no record avatar."],
  ["/mainnet/avatar/Bad..eth", 400, "name must be a normalized name (ENSIP-15)."],
  ["/mainnet/avatar/%ff%00%2f..", 404, "The name has no record avatar."],
  ["/mainnet/avatar/away.eth", 503, "Away."],
  ["/sepolia/avatar/none.eth", 400, "network must be mainnet."],
  ["/goerli/avatar/none.eth", 404, "Not Found"],
  ["/mainnet/banner/none.eth", 404, "Not Found"],
  [
    `/mainnet/${registrar}/x`,
    400,
    "token must be a token id (a decimal number, or 0x and up to 64 hex digits), or its name.",
  ],
  [
    `/mainnet/${registrar}/${2n ** 256n}`,
    400,
    "token must be a token id (a decimal number, or 0x and up to 64 hex digits), or its name.",
  ],
  ...["eth", ".eth", "a..eth", "a.eth.", "%ff"].map(
    (name) =>
      [
        `/mainnet/${registrar}/${name}`,
        400,
        "token must be a token id (a decimal number, or 0x and up to 64 hex digits), or its name.",
      ] as [string, number, string],
  ),
  [`/mainnet/${nft}/1`, 400, "contract must be a registrar or name wrapper of this service."],
  [`/mainnet/${registrar}/1`, 404, "No results found."],
  [`/mainnet/${registrar}/1/image`, 404, "No results found."],
])("%s is refused: %i %s", async (path, status, message) => {
  const { get } = open({ records: { "Bad..eth": 400, "away.eth": 503 } });
  const response = await get(path);
  expect([response.status, response.body]).toEqual([status, { message }]);
});

test("a record that leads back to this service ends there", async () => {
  const { get } = open({ records: { "a.eth": { avatar: "https://a.example" } } });
  expect((await get("/mainnet/avatar/a.eth", { "cdn-loop": "other, nsindex" })).status).toBe(508);
});

test("refusals of the process are passed on, and its absence is a 503", async () => {
  const records = { "a.eth": { avatar: "https://a.example/x.png" } };
  const answer = () => Response.json({ message: "Late." }, { status: 504 });
  expect(await open({ records, answer }).get("/mainnet/avatar/a.eth")).toMatchObject({
    status: 504,
    body: { message: "Late." },
  });
  const { status, headers } = await open({ records, answer: () => undefined }).get("/mainnet/avatar/a.eth");
  expect([status, headers.get("retry-after")]).toEqual([503, "2"]);
});

test.each(["erc721", "ERC1155"])("a token is an avatar if the name's address owns it: %s", async (kind) => {
  const avatar = `eip155:1/${kind}:${nft}/255`;
  const records = { "a.eth": { avatar, "60": owner } };
  const uri = "ipfs://QmMeta/{id}";
  const answer = ({ want }: MediaRequest) =>
    want === "metadata"
      ? Response.json({ name: "N", image_url: "ipfs://QmI", is_owner: "forged" })
      : image("image", "image/png");
  const id = "ff".padStart(64, "0");
  const held = open({ records, answer, tokens: { uri, owner, balance: 2n } });
  expect(await held.get("/mainnet/avatar/a.eth")).toMatchObject({ status: 200, body: "image" });
  expect(held.asked).toEqual([{ want: "image", uri, token: id }]);
  const host_meta = {
    chain_id: 1,
    namespace: kind.toLowerCase(),
    contract_address: nft,
    token_id: "255",
    reference_url: `https://opensea.io/assets/${nft}/255`,
  };
  const meta = { name: "N", image: "ipfs://QmI", image_url: "ipfs://QmI", uri: "a.eth", host_meta };
  expect((await held.get("/mainnet/avatar/a.eth/meta")).body).toEqual({ ...meta, is_owner: true });
  // ENSIP-12: the URI is invalid otherwise.
  const other = open({ records, answer, tokens: { uri, owner: nft, balance: 0n } });
  expect(await other.get("/mainnet/avatar/a.eth")).toMatchObject({
    status: 404,
    body: { message: "The name's address does not own the token of the record." },
  });
  expect(other.asked).toEqual([]);
  expect((await other.get("/mainnet/avatar/a.eth/meta")).body).toEqual({ ...meta, is_owner: false });
  const nobody = open({ records: { "a.eth": { avatar } }, tokens: { uri, owner, balance: 2n } });
  expect((await nobody.get("/mainnet/avatar/a.eth")).status).toBe(404);
});

test("a token on an unknown chain is 404, one on a chain that is away 503", async () => {
  const records = {
    "a.eth": { avatar: `eip155:137/erc721:${nft}/1`, "60": owner },
    "b.eth": { avatar: `eip155:1/erc721:${nft}/1`, "60": owner },
    "c.eth": { avatar: `eip155:1/erc20:${nft}/1` },
    "d.eth": { avatar: `eip155:1/erc721:${nft}/${2n ** 256n}`, "60": owner },
    // The form of viem and `@ensdomains/ens-avatar`.
    "did.eth": { avatar: `did:nft:eip155:137_erc721:${nft}_1`, "60": owner },
  };
  const { get, asked } = open({ records, answer: () => Response.json({ message: "no" }, { status: 404 }) });
  for (const name of ["a.eth", "did.eth"])
    expect((await get(`/mainnet/avatar/${name}`)).body).toEqual({
      message: "The chain of the token, 137, is not indexed here.",
    });
  expect((await get("/mainnet/avatar/b.eth")).status).toBe(503);
  expect((await get("/mainnet/avatar/c.eth")).status).toBe(404);
  expect((await get("/mainnet/avatar/d.eth")).body).toEqual({ message: "The token has no metadata." });
  expect(asked).toEqual([{ want: "image", uri: `eip155:1/erc20:${nft}/1` }]);
});

const times = { created_at: "1580803395", registered_at: "1581013420", expires_at: "2032977474" };
const vitalik = {
  ...{ name: "vitalik.eth", display_name: "vitalik.eth", status: "active", token_id: "1" },
  ...times,
} as Partial<NameRow>;

test("the metadata of a registrar's token has the members of ENS's service", async () => {
  const rows = { [namehash("vitalik.eth")]: vitalik };
  const id = labelhash("vitalik");
  for (const given of [id, BigInt(id).toString()]) {
    const { get } = open({ rows });
    const { status, body } = await get(`http://ens.example/mainnet/${registrar}/${given}`);
    const image = `http://ens.example/mainnet/${registrar}/${id}/image`;
    expect([status, body]).toEqual([
      200,
      {
        is_normalized: true,
        name: "vitalik.eth",
        description: "vitalik.eth, an ENS name.",
        attributes: [
          { trait_type: "Created Date", display_type: "date", value: 1_580_803_395_000 },
          { trait_type: "Length", display_type: "number", value: 7 },
          { trait_type: "Segment Length", display_type: "number", value: 7 },
          { trait_type: "Character Set", display_type: "string", value: "letter" },
          { trait_type: "Registration Date", display_type: "date", value: 1_581_013_420_000 },
          { trait_type: "Expiration Date", display_type: "date", value: 2_032_977_474_000 },
        ],
        url: "https://app.ens.domains/name/vitalik.eth",
        last_request_date: 1_700_000_000_000,
        version: 0,
        background_image: "http://ens.example/mainnet/avatar/vitalik.eth",
        image,
        image_url: image,
      },
    ]);
  }
  const { body } = await open({ rows, url: "https://public.example" }).get(`/mainnet/${registrar}/${id}`);
  expect(body.background_image).toBe("https://public.example/mainnet/avatar/vitalik.eth");
});

test("a token is found by its name too, with its image", async () => {
  const sub = { ...vitalik, name: "sub.vitalik.eth", display_name: "sub.vitalik.eth" };
  const rows = { [namehash("vitalik.eth")]: vitalik, [namehash("sub.vitalik.eth")]: sub };
  const { get } = open({ rows, url: "https://public.example" });
  // ENS's service: labelhash of the part before the last dot for the registrar, namehash for the wrapper.
  for (const [contract, name, id] of [
    [registrar, "vitalik.eth", labelhash("vitalik")],
    [registrar, `[${labelhash("vitalik").slice(2)}].eth`, labelhash("vitalik")],
    [wrapper, "vitalik.eth", namehash("vitalik.eth")],
    [wrapper, "sub.vitalik.eth", namehash("sub.vitalik.eth")],
  ] as const) {
    const byName = await get(`/mainnet/${contract}/${encodeURIComponent(name)}`);
    expect(byName.body.image).toBe(`https://public.example/mainnet/${contract}/${id}/image`);
    expect(byName.body).toEqual((await get(`/mainnet/${contract}/${id}`)).body);
    expect((await get(`/mainnet/${contract}/${encodeURIComponent(name)}/image`)).status).toBe(200);
  }
  for (const name of ["sub.vitalik.eth", "vitalik.xyz", "none.eth", "Vitalik.eth"])
    expect((await get(`/mainnet/${registrar}/${name}`)).status, name).toBe(404);
});

test("a wrapped name's tokens tell of the wrapper", async () => {
  const node = namehash("sub.a.eth");
  const ens_v1 = { wrapper_state: "wrapped", wrapper_expires_at: "2032977474" };
  const row = { name: "sub.a.eth", display_name: "sub.a.eth", status: "active", created_at: "1", ens_v1 };
  const { body } = await open({ rows: { [node]: row as Partial<NameRow> } }).get(
    `/mainnet/${wrapper}/${node}`,
  );
  expect(body.version).toBe(2);
  expect(body.description).toContain("can take it back");
  expect(body.attributes.slice(4)).toEqual([
    { trait_type: "Namewrapper Expiry Date", display_type: "date", value: 2_032_977_474_000 },
    { trait_type: "Namewrapper State", display_type: "string", value: "Wrapped" },
  ]);
  const locked = { ...vitalik, ens_v1: { ...ens_v1, wrapper_state: "locked" } } as Partial<NameRow>;
  const rows = { [namehash("vitalik.eth")]: locked };
  expect((await open({ rows }).get(`/mainnet/${registrar}/${labelhash("vitalik")}`)).body.version).toBe(1);
});

test("a token of an ENSv2 registry has the metadata of the name that it stands for now", async () => {
  const registry = "0x00000000000000000000000000000000000000cc";
  const id = 2n ** 255n + 1n;
  const [left, name] = [namehash("left.a.eth"), namehash("sub.a.eth")];
  const row = { ...vitalik, name: "sub.a.eth", display_name: "sub.a.eth", token_id: `${id}` };
  const { get } = open({
    rows: {
      // The registry was under another name before, which has an entry elsewhere now.
      [left]: { ...row, name: "left.a.eth", registry_path: [registry, nft] },
      [name]: { ...row, registry_path: [nft, registry] },
    },
    nodesInRegistry: async (address, token) =>
      address === registry && BigInt(token) === id ? [left, name] : [],
  });
  const { status, body } = await get(`/mainnet/${registry}/${id}`);
  expect([status, body]).toMatchObject([200, { name: "sub.a.eth", version: 3 }]);
  expect((await get(`/mainnet/${registry}/${id + 1n}`)).status).toBe(404);
  expect((await get(`/mainnet/${nft}/${id}`)).status).toBe(404);
  const byName = await get(`/mainnet/${registry}/sub.a.eth`);
  expect([byName.status, byName.body]).toEqual([200, body]);
  expect((await get(`/mainnet/${registry}/left.a.eth`)).status).toBe(404);
});

test.each([
  ["123", 3, 3, "digit"],
  ["abc", 3, 3, "letter"],
  ["a1é", 3, 3, "alphanumeric"],
  ["👨‍👩‍👧", 5, 1, "emoji"],
  ["a-b", 3, 3, "mixed"],
])("the label %s has %i characters, %i segments, and is %s", async (label, length, segments, kind) => {
  const node = namehash(`${label}.eth`);
  const row = { ...vitalik, name: `${label}.eth`, display_name: `${label}.eth` };
  const { body } = await open({ rows: { [node]: row } }).get(`/mainnet/${wrapper}/${node}`);
  expect(body.attributes.slice(1, 4).map(({ value }: { value: unknown }) => value)).toEqual([
    length,
    segments,
    kind,
  ]);
  expect(/not ASCII/.test(body.description)).toBe(label === "a1é");
});

test("a name that is not normalized, or whose label is unknown, shows the token's id", async () => {
  const id = labelhash("NaN");
  const at = (name: string) => {
    const world = open({ rows: { [namehash("NaN.eth")]: { ...vitalik, name, display_name: name } } });
    return { ...world, path: `/mainnet/${registrar}/${id}` };
  };
  const shown = `[${id.slice(0, 6)}...${id.slice(-4)}].eth`;
  const { get, path } = at("NaN.eth");
  const { body } = await get(path);
  expect(body).toMatchObject({ is_normalized: false, name: shown, url: null });
  expect(body).not.toHaveProperty("background_image");
  expect(body.description).toContain("(NaN.eth is not in normalized form)");
  const unknown = at(`[${id.slice(2)}].eth`);
  expect((await unknown.get(path)).body.attributes).toHaveLength(3);
  await unknown.get(`${path}/image`);
  expect(unknown.asked).toEqual([{ want: "image", uri: "", card: { name: shown, isNormalized: false } }]);
});

test("the image of a token is a card, over the avatar if there is one", async () => {
  const rows = { [namehash("vitalik.eth")]: vitalik };
  const path = `/mainnet/${registrar}/${labelhash("vitalik")}/image`;
  const card = { name: "vitalik.eth", isNormalized: true };
  const bare = open({ rows });
  expect((await bare.get(path)).status).toBe(200);
  expect(bare.asked).toEqual([{ want: "image", uri: "", card }]);
  const uri = "https://a.example/x.png";
  const pictured = open({ rows, records: { "vitalik.eth": { avatar: uri } } });
  await pictured.get(path);
  expect(pictured.asked).toEqual([{ want: "image", uri, card }]);
  const away = open({ rows, records: { "vitalik.eth": 503 } });
  expect((await away.get(path)).status).toBe(503);
});

test("a name that has ended is gone: 410", async () => {
  const rows = { [namehash("vitalik.eth")]: { ...vitalik, status: "released" as const } };
  const { get } = open({ rows });
  for (const path of ["", "/image"])
    expect((await get(`/mainnet/${registrar}/${labelhash("vitalik")}${path}`)).status).toBe(410);
});
