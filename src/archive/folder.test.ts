import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { recordedBlocks, writeArchive } from "../../test/support/archive/recorded.ts";
import { recordingOf } from "../../test/support/recordings.ts";
import { fetchArchive } from "./folder.ts";

const recording = recordingOf("linea");
const { chainId } = recording;
const { folder, manifest } = await writeArchive(chainId, [
  { from: 0, to: 158, blocks: recordedBlocks(recording) },
]);
const [segment] = manifest.segments;
const name = `${segment?.hash}.seg`;
const original = readFileSync(join(folder, String(chainId), name));

// As file hosts have it in the paths of their URLs.
const key = "/d41d8cd98f00b204e9800998";
type Answer = (request: IncomingMessage, response: ServerResponse, bytes: Buffer) => void;
let answer: Answer;
const requests: string[] = [];
const server = createServer((request, response) => {
  requests.push(`${request.url} ${request.headers.range ?? ""}`.trim());
  const path = join(folder, request.url?.replace(key, "") ?? "");
  if (!existsSync(path)) return void response.writeHead(404).end();
  if (!path.endsWith(".seg")) return void response.end(readFileSync(path));
  answer(request, response, original);
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const targets: string[] = [];
afterAll(() => {
  server.closeAllConnections();
  server.close();
  for (const one of [folder, ...targets]) rmSync(one, { recursive: true });
});

function newTarget(): string {
  requests.length = 0;
  const target = mkdtempSync(join(tmpdir(), "archive-"));
  targets.push(target);
  return target;
}
const filesIn = (target: string) => readdirSync(join(target, String(chainId))).sort();
const fetched = (target: string) => fetchArchive(url, target, chainId, () => {});

const withRanges: Answer = (request, response, bytes) => {
  const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
  response.writeHead(start === 0 ? 200 : 206).end(bytes.subarray(start));
};
const cutAt =
  (length: number): Answer =>
  (_, response, bytes) => {
    response.writeHead(200, { "content-length": bytes.length });
    response.write(bytes.subarray(0, length), () => setTimeout(() => response.destroy(), 50));
  };

test("an archive is fetched once, and equals the original", async () => {
  const target = newTarget();
  answer = withRanges;
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

test("a fetch that was interrupted goes on where it stopped", async () => {
  const target = newTarget();
  answer = cutAt(1_000);
  await expect(fetched(target)).rejects.toThrow();
  expect(filesIn(target)).toEqual([`${name}.part`]);
  expect(statSync(join(target, String(chainId), `${name}.part`)).size).toBe(1_000);
  answer = withRanges;
  await fetched(target);
  expect(requests.at(-1)).toBe(`/${chainId}/${name} bytes=1000-`);
  expect(readFileSync(join(target, String(chainId), name))).toEqual(original);
});

test("a host without ranges sends the whole again, and the part before is kept", async () => {
  const target = newTarget();
  answer = cutAt(1_000);
  await expect(fetched(target)).rejects.toThrow();
  answer = (_, response, bytes) => void response.end(bytes);
  await fetched(target);
  expect(readFileSync(join(target, String(chainId), name))).toEqual(original);
});

test.each<[string, Answer, string]>([
  [
    "other bytes",
    (_, response, bytes) => void response.end(Buffer.alloc(bytes.length)),
    "does not match its hash",
  ],
  [
    "more bytes than the manifest says",
    (_, response, bytes) => void response.end(Buffer.concat([bytes, bytes])),
    "sends more than",
  ],
  ["an error", (_, response) => void response.writeHead(500).end("x"), "responds with 500"],
])("a host that sends %s leaves no segment behind", async (_, wrong, problem) => {
  const target = newTarget();
  answer = wrong;
  await expect(fetched(target)).rejects.toThrow(problem);
  expect(filesIn(target)).not.toContain(name);
  expect(filesIn(target)).not.toContain("manifest.json");
  answer = withRanges;
  await fetched(target);
  expect(readFileSync(join(target, String(chainId), name))).toEqual(original);
});

test.each<[string, Answer, string]>([
  [
    "other bytes",
    (_, response, bytes) => void response.end(Buffer.alloc(bytes.length)),
    `File ${name} of HOST does not match its hash.`,
  ],
  [
    "fewer bytes",
    (_, response, bytes) => void response.end(bytes.subarray(1)),
    `File ${name} of HOST is cut off.`,
  ],
  [
    "more bytes",
    (_, response, bytes) => void response.end(Buffer.concat([bytes, bytes])),
    `HOST sends more than ${original.length} bytes for ${name}.`,
  ],
  ["nothing", (_, response) => void response.writeHead(404).end(), `File ${name} of HOST is missing.`],
  ["an error", (_, response) => void response.writeHead(403).end(), `HOST responds with 403 to ${name}.`],
])("of a host that sends %s only the host and the file are named", async (_, wrong, message) => {
  answer = wrong;
  const error = await fetchArchive(url + key, newTarget(), chainId, () => {}).catch((reason) => reason);
  expect(error.message).toBe(message.replace("HOST", new URL(url).host));
});

test("a chain that the host lacks, and a folder in place of a URL, are said", async () => {
  await expect(fetchArchive(url + key, newTarget(), 5, () => {})).rejects.toThrow(
    `${new URL(url).host} has no archive of chain 5.`,
  );
  await expect(fetchArchive(folder, newTarget(), chainId, () => {})).rejects.toThrow(
    "is not an http(s):// URL",
  );
});
