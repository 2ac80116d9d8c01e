import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { childrenOf } from "../../../test/support/process-tree.ts";
import { startServer } from "../../../test/support/server.ts";
import { mediaLimits } from "./media.ts";
import { type MediaRequest, startMedia } from "./process.ts";

const clean = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"></svg>';
const dataUrl = (type: string, text: string) => `data:${type};base64,${btoa(text)}`;

async function start() {
  const folder = await mkdtemp(join(tmpdir(), "images-"));
  const logged: string[] = [];
  const before = await childrenOf(process.pid);
  const limits = { ...mediaLimits, allowsPrivateHosts: true };
  const settings = { ipfsGateway: "https://ipfs.example", folder, megabytes: 1, limits };
  const media = startMedia(settings, (_, message) => void logged.push(message));
  onTestFinished(async () => {
    media.stop();
    await rm(folder, { recursive: true });
  });
  const ask = (asked: Omit<MediaRequest, "want">, want: MediaRequest["want"] = "image") =>
    media.ask({ want, ...asked }, new AbortController().signal);
  const isThere = () => expect.poll(async () => (await ask({ uri: clean }))?.status).toBe(200);
  const pids = async () => (await childrenOf(process.pid)).filter((pid) => !before.includes(pid));
  return { ...{ media, logged, ask, isThere, pids } };
}

test("images, metadata and cards come from a process of its own", async () => {
  const { ask, isThere } = await start();
  await isThere();
  const answer = async (...asked: Parameters<typeof ask>) => {
    const response = await ask(...asked);
    return [response?.status, response?.headers.get("content-type"), await response?.text()];
  };
  expect(await answer({ uri: clean })).toEqual([200, "image/svg+xml", clean]);
  const { headers } = (await ask({ uri: clean })) ?? {};
  expect(headers?.get("content-length")).toBe(String(clean.length));
  expect(headers?.get("etag")).toMatch(/^"[\w-]{22}"$/);
  expect(await answer({ uri: "nothing" })).toEqual([
    404,
    "application/json",
    '{"message":"The record is no URL of an image that is supported."}',
  ]);
  const token = "ff".padStart(64, "0");
  const uris: string[] = [];
  const url = await startServer(({ url = "" }, response) => {
    uris.push(url);
    response.end(JSON.stringify({ name: "N", image: "", image_url: null, image_data: clean }));
  });
  // ERC-1155: 64 hex digits in lower case. The name wrapper's URI ends in `0x{id}`.
  expect(await answer({ uri: `${url}/{id}.json`, token })).toEqual([200, "image/svg+xml", clean]);
  expect(await answer({ uri: `${url}/0x{id}`, token })).toEqual([200, "image/svg+xml", clean]);
  expect(uris).toEqual([`/${token}.json`, `/0x${token}`]);
  const json = dataUrl("application/json", '{"name":"N"}');
  expect(await answer({ uri: json, token }, "metadata")).toEqual([200, "application/json", '{"name":"N"}']);
  expect(await answer({ uri: json, token })).toMatchObject([404, "application/json", /names no image/]);
  for (const uri of ["", "https://", clean]) {
    const [status, type, card] = await answer({ uri, card: { name: "a<b>&.eth", isNormalized: true } });
    expect([status, type]).toEqual([200, "image/svg+xml"]);
    expect(card).toContain(">a&lt;b&gt;&amp;.eth</text>");
    expect(String(card).includes(`data:image/svg+xml;base64,${btoa(clean)}`)).toBe(uri === clean);
  }
});

test("the process may not read the environment of this one, nor start programs", async () => {
  const { isThere, pids } = await start();
  await isThere();
  const [pid] = await pids();
  const [node = "", ...args] = (await readFile(`/proc/${pid}/cmdline`, "utf8")).split("\0");
  const flags = args.slice(
    0,
    args.findIndex((arg) => arg.endsWith("main.ts")),
  );
  const run = (script: string) => promisify(execFile)(node, [...flags, "-e", script], { env: {} });
  for (const file of [`/proc/${process.pid}/environ`, resolve(".env.local")])
    await expect(run(`fs.readFileSync("${file}")`), file).rejects.toThrow("ERR_ACCESS_DENIED");
  await expect(run(`child_process.execFileSync("true")`)).rejects.toThrow("ERR_ACCESS_DENIED");
  await run("0");
});

test("after kill -9 the process is away, then back, and it does not outlive a stop", async () => {
  const { ask, isThere, pids, logged, media } = await start();
  await isThere();
  const [first = 0] = await pids();
  process.kill(first, "SIGKILL");
  await expect.poll(() => logged).toEqual(["The image process ended (SIGKILL); restarting it."]);
  expect(await ask({ uri: clean })).toBeUndefined();
  await isThere();
  const [second] = await pids();
  expect(second).not.toBe(first);
  media.stop();
  await expect.poll(pids).toEqual([]);
  expect(logged).toHaveLength(1);
});
