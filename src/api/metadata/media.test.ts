import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { startServer } from "../../../test/support/server.ts";
import { createMedia, locate, mediaLimits } from "./media.ts";
import { openStore } from "./store.ts";

const signal = () => new AbortController().signal;
const open = { ...mediaLimits, allowsPrivateHosts: true, timeoutMs: 60_000 };
const ipfsGateway = "https://ipfs.example";
const image = (uri: string, limits = open) => createMedia({ ipfsGateway, limits }).image(uri, signal());

/** The beginning of a PNG file (PNG specification, 5.2 and 11.2.2). */
function png(width: number, height = width): Buffer {
  const header = Buffer.alloc(33);
  header.write("89504e470d0a1a0a0000000d49484452", "hex");
  header.writeUInt32BE(width, 16);
  header.writeUInt32BE(height, 20);
  return header;
}
const gif = Buffer.from("474946383961010001000000003b", "hex");
const clean = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"></svg>';

test.each([
  ["ipfs://bafyabc/a b.png", "https://ipfs.example/ipfs/bafyabc/a%20b.png"],
  ["ipfs://ipfs/QmAbC", "https://ipfs.example/ipfs/QmAbC"],
  ["IPFS://QmAbC", "https://ipfs.example/ipfs/QmAbC"],
  ["ipns://k51/x", "https://ipfs.example/ipns/k51/x"],
  ["ar://abc/1.png", "https://arweave.net/abc/1.png"],
  [" https://a.example/x ", "https://a.example/x"],
  ["data:image/png;base64,AA==", "data:image/png;base64,AA=="],
  ["<svg/>", "data:image/svg+xml,%3Csvg%2F%3E"],
  ["data:image/svg+xml;utf8,<svg\tfill='#f00'\n/>", "data:image/svg+xml;utf8,<svg%09fill='%23f00'%0A/>"],
])("%j is at %s", (uri, url) => {
  expect(locate(uri, "https://ipfs.example/").href).toBe(url);
});

// viem does not export it.
const { resolveAvatarUri } = (await import(
  new URL("../../../node_modules/viem/_esm/utils/ens/avatar/utils.js", import.meta.url).href
)) as { resolveAvatarUri: (asked: { uri: string }) => { uri: string } };

// Vectors of `@ensdomains/ens-avatar` (`resolve ipfs`), and the forms of viem.
const [v0, base32, base58] = [
  "QmZHKZDavkvNfA9gSAg7HALv8jF7BJaKjUc9U2LSuvUySB",
  "bafybeiasb5vpmaounyilfuxbd3lryvosl4yefqrfahsb2esg46q6tu6y5q",
  "zdj7WWeQ43G6JJvLWQWZpyHuAMq6uYWRjkBXFad11vE2LHhQ7",
];
const takenByLibraries: readonly (readonly [uri: string, path: string])[] = [
  [v0, `ipfs/${v0}`],
  [`${v0}/1.json`, `ipfs/${v0}/1.json`],
  [base32, `ipfs/${base32}`],
  [base32.toUpperCase(), `ipfs/${base32.toUpperCase()}`],
  [`${base32}/a/b.png`, `ipfs/${base32}/a/b.png`],
  [base58, `ipfs/${base58}`],
  [`${base58}/test.json`, `ipfs/${base58}/test.json`],
  [`F0170${"12".repeat(34)}`, `ipfs/F0170${"12".repeat(34)}`],
  [`ipfs/${v0}`, `ipfs/${v0}`],
  [`/ipfs/${v0}/1.json`, `ipfs/${v0}/1.json`],
  [`ipfs://ipfs/${v0}`, `ipfs/${v0}`],
  [`ipfs:/${v0}`, `ipfs/${v0}`],
  [`ipfs://${v0}/1.json`, `ipfs/${v0}/1.json`],
  [`ipfs://ipns/${v0}`, `ipns/${v0}`],
  [`ipns://${v0}`, `ipns/${v0}`],
  [`ipns:/${v0}`, `ipns/${v0}`],
  [`/ipns/${v0}`, `ipns/${v0}`],
  [`ipns/${v0}/1.json`, `ipns/${v0}/1.json`],
  ["ipns/ipns.com", "ipns/ipns.com"],
  ["/ipns/github.com", "ipns/github.com"],
];
test.each(takenByLibraries)("%j is at the gateway, as libraries have it", (uri, path) => {
  expect(locate(uri, "https://ipfs.io").href).toBe(`https://ipfs.io/${path}`);
  expect(resolveAvatarUri({ uri }).uri).toBe(`https://ipfs.io/${path}`);
});
test.each([
  // Only `@ensdomains/ens-avatar` takes a CID after a slash, and one that holds its content.
  [`/${v0}`, `https://ipfs.io/ipfs/${v0}`],
  ["bafkqaaa", "https://ipfs.io/ipfs/bafkqaaa"],
  [
    "ar:/rgW4h3ffQQzOD8ynnwdl3_YlHxtssqV3aXOregPr7yI/1",
    "https://arweave.net/rgW4h3ffQQzOD8ynnwdl3_YlHxtssqV3aXOregPr7yI/1",
  ],
])("%j is at %s", (uri, url) => {
  expect(locate(uri, "https://ipfs.io").href).toBe(url);
});

test.each([
  "",
  "x",
  "ipfs",
  "ipfs://",
  "QmTooShort",
  "ftp://a.example",
  "file:///etc/passwd",
  "javascript:alert(1)",
  "http://",
  `https://a.example/${"x".repeat(20_000)}`,
])("%j is no URL of an image", (uri) => {
  expect(() => locate(uri, ipfsGateway)).toThrow("no URL of an image");
});

test("the type is that of the bytes, whatever the host says", async () => {
  const files: Record<string, Buffer> = {
    "/png": png(2),
    "/gif": gif,
    "/svg": Buffer.from(`\ufeff\n${clean}`),
  };
  const url = await startServer(({ url = "" }, response) => {
    response.setHeader("content-type", "text/html").end(files[url]);
  });
  expect(await image(`${url}/png`)).toEqual({ type: "image/png", bytes: png(2) });
  expect(await image(`${url}/gif`)).toEqual({ type: "image/gif", bytes: gif });
  expect(await image(`${url}/svg`)).toEqual({ type: "image/svg+xml", bytes: Buffer.from(clean) });
});

test.each([
  ["a page", "<!doctype html><script>alert(1)</script>"],
  ["a text", "hello"],
  ["nothing", ""],
  ["a file of another type", Buffer.from("504b0304", "hex")],
  ["a cut header", png(2).subarray(0, 14)],
])("%s is no image", async (_, body) => {
  const url = await startServer((_, response) => response.setHeader("content-type", "image/png").end(body));
  await expect(image(url)).rejects.toMatchObject({ status: 404, message: "The record leads to no image." });
});

test("an image that says it is huge is refused", async () => {
  const url = await startServer((_, response) => response.end(png(100_000, 1)));
  await expect(image(url)).rejects.toThrow("too many pixels");
});

test("data URLs are images too, malformed ones are refused", async () => {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`;
  const expected = { type: "image/svg+xml", bytes: Buffer.from(clean) };
  expect(await image(`data:image/svg+xml;base64,${Buffer.from(svg).toString("base64")}`)).toEqual(expected);
  expect(await image(`data:image/svg+xml;utf8,${encodeURIComponent(svg)}`)).toEqual(expected);
  expect(await image(svg)).toEqual(expected);
  expect(await image(`data:text/html;base64,${png(3).toString("base64")}`)).toMatchObject({
    type: "image/png",
  });
  await expect(image("data:image/png;base64,!")).rejects.toThrow("malformed");
});

test("bodies without an end, large ones and gzip bombs are cut off", async () => {
  const limits = { ...open, imageBytes: 100_000, svgBytes: 10_000 };
  const endless = await startServer((_, response) => {
    const more = () => response.write(Buffer.alloc(1_000), () => setImmediate(more));
    more();
  });
  await expect(image(endless, limits)).rejects.toThrow("too long");
  const bomb = gzipSync(Buffer.alloc(50_000_000));
  const packed = await startServer((_, response) => response.setHeader("content-encoding", "gzip").end(bomb));
  await expect(image(packed, limits)).rejects.toThrow("too long");
  const large = await startServer((_, response) => response.end(clean.padEnd(20_000)));
  await expect(image(large, limits)).rejects.toThrow("too large");
  const grows = await startServer((_, response) =>
    response.end(clean.replace("></svg>", ` id='${'"'.repeat(9_000)}'/>`)),
  );
  await expect(image(grows, { ...limits, imageBytes: 20_000 })).rejects.toThrow("too large");
});

test("packed images are unpacked, damaged ones refused", async () => {
  const body = gzipSync(clean);
  const url = await startServer(({ url }, response) =>
    response.setHeader("content-encoding", "gzip").end(url === "/cut" ? body.subarray(0, 30) : body),
  );
  expect((await image(url)).bytes.toString()).toBe(clean);
  await expect(image(`${url}/cut`)).rejects.toThrow("cannot be asked");
});

test("hosts that are silent, drip or hang up do not hold a request", async () => {
  const limits = { ...open, timeoutMs: 300 };
  const silent = await startServer(() => undefined);
  await expect(image(silent, limits)).rejects.toMatchObject({ status: 504 });
  const dripping = await startServer((_, response) => {
    const drip = setInterval(() => response.write("x"), 20);
    response.on("close", () => clearInterval(drip));
  });
  await expect(image(dripping, limits)).rejects.toMatchObject({ status: 504 });
  const leaving = await startServer(({ socket }) => socket.destroy());
  await expect(image(leaving)).rejects.toMatchObject({ status: 404, message: "The host cannot be asked." });
  const failing = await startServer((_, response) => response.writeHead(500).end());
  await expect(image(failing)).rejects.toThrow("responds with 500");
});

test("redirects are followed three times, within http and https", async () => {
  const url = await startServer(({ url = "" }, response) => {
    const left = Number(url.slice(1));
    if (left === 0) response.end(png(1));
    else response.writeHead(302, { location: `/${left - 1}` }).end();
  });
  expect((await image(`${url}/3`)).type).toBe("image/png");
  await expect(image(`${url}/4`)).rejects.toThrow("again and again");
  const to = (location: string) =>
    startServer((_, response) => response.writeHead(301, location ? { location } : {}).end());
  await expect(image(await to("file:///etc/passwd"))).rejects.toThrow("no URL");
  await expect(image(await to("http://"))).rejects.toThrow("no URL");
  await expect(image(await to(""))).rejects.toThrow();
});

test("no host in a private network is asked, not even after a redirect of the operator's own gateway", async () => {
  let asked = 0;
  const secret = await startServer((_, response) => {
    asked += 1;
    response.end(png(1));
  });
  const { port } = new URL(secret);
  const strict = { ...mediaLimits, timeoutMs: 60_000 };
  const refused = { status: 404, message: "The record leads to a host that is not public." };
  for (const host of [
    "127.0.0.1",
    "localhost",
    "[::1]",
    "0x7f.1",
    "2130706433",
    "[::ffff:127.0.0.1]",
    "0.0.0.0",
  ])
    await expect(image(`http://${host}:${port}/`, strict), host).rejects.toMatchObject(refused);
  for (const url of ["http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://192.168.1.1/"])
    await expect(image(url, strict), url).rejects.toMatchObject(refused);
  const redirecting = await startServer(({ url = "" }, response) => {
    if (url === "/ipfs/QmImage") response.end(png(7));
    else
      response
        .writeHead(302, { location: url === "/ipfs/QmSecret" ? secret : "http://169.254.169.254/" })
        .end();
  });
  // The operator's own gateway may be in a private network; where it redirects to may not.
  const media = createMedia({ ipfsGateway: redirecting, limits: strict });
  expect((await media.image("ipfs://QmImage", signal())).bytes).toEqual(png(7));
  await expect(media.image("ipfs://QmSecret", signal())).rejects.toMatchObject(refused);
  await expect(media.image("ipfs://QmMetadata", signal())).rejects.toMatchObject(refused);
  for (const uri of [
    `${redirecting}/api/v0/id`,
    "ipfs://../api/v0/id",
    "/ipfs/../api/v0/id",
    `${redirecting}/ipfs/../api`,
  ])
    await expect(media.image(uri, signal()), uri).rejects.toMatchObject(refused);
  expect(asked).toBe(0);
});

test("a request that this service sends says so, and ends with its client", async () => {
  const leaving = new AbortController();
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const closed = Promise.withResolvers<void>();
  const url = await startServer(({ headers }, response) => {
    resolve(headers["cdn-loop"]);
    response.on("close", closed.resolve);
  });
  const reading = createMedia({ ipfsGateway, limits: open }).image(url, leaving.signal);
  expect(await promise).toBe("nsindex");
  leaving.abort(new Error("gone"));
  await expect(reading).rejects.toThrow("gone");
  await closed.promise;
});

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "images-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

test("images stay on disk, over a restart too, and failures for a while in memory", async () => {
  const folder = await temporaryFolder();
  const asked: string[] = [];
  const url = await startServer(({ url = "" }, response) => {
    asked.push(url);
    if (url === "/none") response.writeHead(404).end();
    else response.end(url === "/svg" ? clean : png(1));
  });
  const start = async () =>
    createMedia({ ipfsGateway, limits: open, store: await openStore(folder, 1_000_000) });
  const read = async (media: Awaited<ReturnType<typeof start>>) => {
    expect(await media.image(`${url}/png`, signal())).toEqual({ type: "image/png", bytes: png(1) });
    expect((await media.image(`${url}/svg`, signal())).bytes.toString()).toBe(clean);
  };
  const first = await start();
  await read(first);
  await read(first);
  await read(await start());
  expect(asked).toEqual(["/png", "/svg"]);
  for (const _ of [1, 2]) await expect(first.image(`${url}/none`, signal())).rejects.toThrow("404");
  expect(asked).toEqual(["/png", "/svg", "/none"]);
});

test("the folder is bounded: what was not read for longest makes room", async () => {
  const folder = await temporaryFolder();
  const store = await openStore(folder, 3 * 4_096);
  for (const key of ["a", "b", "c"]) await store.write(key, Buffer.from(key));
  expect(await store.read("a")).toEqual(Buffer.from("a"));
  await store.write("d", Buffer.alloc(4_096));
  await expect.poll(async () => (await readdir(folder)).length).toBe(3);
  expect(await Promise.all(["a", "b", "c", "d"].map(async (key) => (await store.read(key))?.length))).toEqual(
    [1, undefined, 1, 4_096],
  );
  await store.write("too large", Buffer.alloc(20_000));
  expect(await store.read("too large")).toBeUndefined();
  await expect.poll(async () => (await readdir(folder)).length).toBe(3);
  // A folder that has more than a smaller bound is cut when it is opened.
  await openStore(folder, 4_096);
  await expect.poll(async () => (await readdir(folder)).length).toBe(1);
});

test("a folder that is gone keeps nothing, and breaks nothing", async () => {
  const folder = await temporaryFolder();
  const store = await openStore(join(folder, "images"), 1_000_000);
  await store.write("a", Buffer.from("a"));
  await rm(join(folder, "images"), { recursive: true });
  expect(await store.read("a")).toBeUndefined();
  await store.write("b", Buffer.from("b"));
  expect(await store.read("b")).toBeUndefined();
});

const red =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 2 1"><rect width="100%" fill="#d5d7e1"/></svg>';
const redBytes = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 2 1"><rect width="100%" fill="#d5d7e1"></rect></svg>',
);
// As contracts write it: plain, with `%` as URLs have it, and encoded.
test.each([
  red,
  `data:image/svg+xml;utf8,${red}`,
  `data:image/svg+xml;charset=utf-8,${red.replace("%", "%25")}`,
  `data:image/svg+xml,${red.replace(" ", "\n").replace("%", "%25")}`,
  `data:image/svg+xml,${encodeURIComponent(red)}`,
  `data:image/svg+xml;base64,${btoa(red)}`,
])("an image that a contract draws is whole: %s", async (uri) => {
  const expected = { type: "image/svg+xml", bytes: redBytes };
  const media = createMedia({ ipfsGateway, limits: open });
  expect(await media.image(uri, signal())).toEqual(expected);
  const json = JSON.stringify({ name: "Token #1: 100%", image: uri });
  for (const tokenUri of [
    json,
    ` ${json}`,
    `data:application/json;utf8,${json}`,
    `data:application/json,${json}`,
    `data:application/json,${encodeURIComponent(json)}`,
    `data:application/json;charset=utf-8;base64,${btoa(json)}`,
    `data:application/json;base64,${btoa(`\n${json}`)}`,
  ])
    expect(await media.metadata(tokenUri, signal()), tokenUri).toEqual(JSON.parse(json));
});

test("metadata is a JSON object", async () => {
  const media = createMedia({ ipfsGateway, limits: open });
  const at = (body: string) => media.metadata(`data:application/json;base64,${btoa(body)}`, signal());
  expect(await at('{"image":"x"}')).toEqual({ image: "x" });
  for (const body of ["", "null", "1", "{"]) await expect(at(body)).rejects.toThrow("no JSON object");
  await expect(media.metadata("{", signal())).rejects.toMatchObject({ status: 404 });
});
