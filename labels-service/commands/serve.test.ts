import { copyFileSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { freePort } from "../../devnet/ports.ts";
import { labelhash } from "../../src/ens/labels.ts";
import { openLabels } from "../../src/labels/open-labels.ts";
import { ingestBytes, start, startCommand } from "../../test/support/labels/commands.ts";

let folder: string;
let databasePath: string;
let running: ReturnType<typeof start> | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "serve-"));
  databasePath = join(folder, "labels.sqlite");
});
afterEach(async () => {
  running?.child.kill("SIGKILL");
  await running?.ended;
  running = undefined;
  rmSync(folder, { recursive: true });
});

async function serve() {
  const port = await freePort();
  running = start(
    ["serve", "--port", String(port), "--host", "127.0.0.1", "--database", databasePath],
    folder,
  );
  const base = `http://127.0.0.1:${port}`;
  await expect.poll(() => statusOf(`${base}/health`)).toBe(200);
  return { base, port, ...running };
}

const statusOf = (url: string) =>
  fetch(url).then(
    (response) => response.status,
    () => 0,
  );

describe("serve", () => {
  test("binds its port at once, waits for a database, picks up the next one, and exits on SIGTERM", async () => {
    const { base, child, ended } = await serve();
    const heal = async (label: string) => statusOf(`${base}/v1/heal/${labelhash(label)}`);
    expect([await statusOf(`${base}/ready`), await heal("eth")]).toEqual([503, 503]);

    await ingestBytes("eth\n", { databasePath });
    await expect.poll(() => statusOf(`${base}/ready`)).toBe(200);
    expect([await heal("eth"), await heal("new")]).toEqual([200, 404]);

    await ingestBytes("new\n", { databasePath, labelSetVersion: 1 });
    await expect.poll(() => heal("new")).toBe(200);

    child.kill("SIGHUP");
    await expect
      .poll(async () => (await (await fetch(`${base}/metrics`)).text()).match(/attachments (\d)/)?.[1])
      .toBe("3");
    child.kill("SIGTERM");
    expect(await ended).toMatchObject({ code: 0, stderr: "" });
  });

  test("exits with one line when the port is in use", async () => {
    const { port } = await serve();
    const other = start(["serve", "--port", String(port), "--host", "127.0.0.1"], folder);
    expect(await other.ended).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Port \d+ cannot be used: .*EADDRINUSE.*\n$/),
    });
  });

  test("returns the same labels to pinned clients as the file, before and after the next version", async () => {
    const labels = ["eth", "", "a.b", "new", "unknown"];
    await ingestBytes("eth\n\na.b\n", { databasePath });
    const pinned = { labelSetId: "ens-test-env", log: () => {} };
    const { base } = await serve();
    await expect.poll(() => statusOf(`${base}/ready`)).toBe(200);
    const answers = async (url: string, labelSetVersion: number) => {
      const source = await openLabels({ url, labelSetVersion, ...pinned });
      const healed = await Promise.all(labels.map((label) => source.heal(labelhash(label))));
      await source.close();
      return healed;
    };
    const old = ["eth", "", "a.b", undefined, undefined];
    expect([await answers(base, 0), await answers(`file:${databasePath}`, 0)]).toEqual([old, old]);
    await expect(answers(base, 1)).rejects.toThrow(
      /Version 1 of label set "ens-test-env" is configured \(LABEL_SET_VERSION\), but http/,
    );

    const next = join(folder, "next.sqlite");
    copyFileSync(databasePath, next);
    await ingestBytes("new\neth\n", { databasePath: next, labelSetVersion: 1 });
    renameSync(next, databasePath);
    await expect.poll(() => statusOf(`${base}/v1/heal/${labelhash("new")}`)).toBe(200);
    expect([await answers(base, 0), await answers(`file:${databasePath}`, 0)]).toEqual([old, old]);
    const all = ["eth", "", "a.b", "new", undefined];
    expect([await answers(base, 1), await answers(`file:${databasePath}`, 1)]).toEqual([all, all]);
  });

  test("runs within a process: log lines, reload on SIGHUP, exit on SIGINT", async () => {
    const port = String(await freePort());
    const args = ["serve", "--port", port, "--database", databasePath, "--log-requests"];
    const { ended, written, signals } = startCommand(args, { folder });
    const base = `http://127.0.0.1:${port}`;
    await expect.poll(() => statusOf(`${base}/health`)).toBe(200);
    await ingestBytes("eth\n", { databasePath });
    signals.emit("SIGHUP");
    expect(await (await fetch(`${base}/v1/heal/${labelhash("eth")}`)).json()).toEqual({
      status: "success",
      label: "eth",
    });
    signals.emit("SIGINT");
    expect(await ended).toMatchObject({ code: 0, stderr: "" });
    const lines = written.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ message }) => message).filter((message) => message !== "request")).toEqual([
      "listening",
      "waiting for the label database",
      "label database attached",
      "ending",
    ]);
    expect(lines.at(-1)).toMatchObject({ level: "info", signal: "SIGINT" });
    expect(lines.filter(({ path }) => path?.startsWith("/v1/heal/"))).toMatchObject([
      { message: "request", method: "GET", path: `/v1/heal/${labelhash("eth")}`, status: 200 },
    ]);
    expect(signals.listenerCount("SIGHUP")).toBe(0);
  });
});
