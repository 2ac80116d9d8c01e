import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { listen } from "../../devnet/rpc/server.ts";
import { recordedBlocks, writeArchive } from "../../test/support/archive/recorded.ts";
import { temporaryFolders } from "../../test/support/folders.ts";
import { recordingOf } from "../../test/support/recordings.ts";
import { fetchArchive } from "./folder.ts";

const recording = recordingOf("linea");
const { chainId } = recording;
const newFolder = temporaryFolders();
const segments = [{ from: 0, to: 158, blocks: recordedBlocks(recording) }];
const { folder, manifest } = await writeArchive(chainId, segments, newFolder());
const [segment] = manifest.segments;
const name = `${segment?.hash}.seg`;
const original = readFileSync(join(folder, String(chainId), name));

// As file hosts have it in the paths of their URLs.
const key = "/d41d8cd98f00b204e9800998";
type Answer = (request: IncomingMessage, response: ServerResponse, bytes: Buffer) => void;
let answer: Answer;
const requests: string[] = [];
const { url, close } = await listen((request, response) => {
  requests.push(request.url ?? "");
  const path = join(folder, request.url?.replace(key, "") ?? "");
  if (!existsSync(path)) return void response.writeHead(404).end();
  if (!path.endsWith(".seg")) return void response.end(readFileSync(path));
  answer(request, response, original);
});
afterAll(close);

function newTarget(): string {
  requests.length = 0;
  return newFolder();
}
const filesIn = (target: string) => readdirSync(join(target, String(chainId))).sort();
const fetched = (target: string) => fetchArchive(url, target, chainId, () => {});

const whole: Answer = (_, response, bytes) => void response.end(bytes);
const part = `${segment?.hash.slice(0, 12)}… (blocks 0 to 158 of chain ${chainId})`;

test("an archive is fetched once, and equals the original", async () => {
  const target = newTarget();
  answer = whole;
  expect(await fetched(target)).toEqual(manifest);
  expect(filesIn(target)).toEqual([name, "manifest.json"].sort());
  expect(readFileSync(join(target, String(chainId), name))).toEqual(original);
  await fetched(target);
  expect(requests).toEqual([`/${chainId}/manifest.json`, `/${chainId}/${name}`, `/${chainId}/manifest.json`]);
});

test("user name and password of the URL become a header of each request", async () => {
  const seen = new Set<string | undefined>();
  answer = (request, response, bytes) => {
    seen.add(request.headers.authorization);
    response.end(bytes);
  };
  const own = url.replace("http://", "http://Aladdin:open%20sesame@");
  expect(await fetchArchive(own, newTarget(), chainId, () => {})).toEqual(manifest);
  // The example of RFC 7617, section 2.
  expect([...seen]).toEqual(["Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="]);
  const fault = await fetchArchive(own, newTarget(), 5, () => {}).catch((error) => error);
  expect(fault.message).toBe(`${new URL(url).host} has no archive of chain 5.`);
});

test.each<[string, Answer, string]>([
  [
    "other bytes",
    (_, response, bytes) => void response.end(Buffer.alloc(bytes.length)),
    `File ${part} does not match its hash.`,
  ],
  [
    "fewer bytes",
    (_, response, bytes) => void response.end(bytes.subarray(1)),
    `File ${part} has ${original.length - 1} bytes, not ${original.length}: it is cut off.`,
  ],
  [
    "more bytes",
    (_, response, bytes) => void response.end(Buffer.concat([bytes, bytes])),
    `HOST sends more than ${original.length} bytes for ${name}.`,
  ],
  ["nothing", (_, response) => void response.writeHead(404).end(), `File ${part} is missing.`],
  ["an error", (_, response) => void response.writeHead(403).end(), `HOST responds with 403 to ${name}.`],
])(
  "a host that sends %s leaves no file behind, and only host and file are named",
  async (_, wrong, message) => {
    const target = newTarget();
    answer = wrong;
    const error = await fetchArchive(url + key, target, chainId, () => {}).catch((reason) => reason);
    expect(error.message).toBe(message.replace("HOST", new URL(url).host));
    expect(existsSync(join(target, String(chainId)))).toBe(false);
    answer = whole;
    await fetched(target);
    expect(readFileSync(join(target, String(chainId), name))).toEqual(original);
  },
);

test("a folder in place of a URL is refused", async () => {
  await expect(fetchArchive(folder, newTarget(), chainId, () => {})).rejects.toThrow(
    "is not an http(s):// URL",
  );
});
