import { type ChildProcess, fork } from "node:child_process";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Log } from "../../log/json-log.ts";
import type { mediaLimits } from "./media.ts";

/** Settings of the process. `folder` and `megabytes` are where it keeps images, and how much of them. */
export type MediaSettings = {
  ipfsGateway: string;
  folder: string;
  megabytes: number;
  limits?: typeof mediaLimits;
};

/**
 * What the process is asked: an image, perhaps on the card of a name (`uri` may be empty then), or the metadata of a
 * token.
 */
export type MediaRequest = {
  want: "image" | "metadata";
  uri: string;
  /** The token whose metadata the URI leads to: its id as 64 hex digits. */
  token?: string | undefined;
  card?: { name: string; isNormalized: boolean };
};

/** Asks the process; its response, or undefined while it is away. Rejects once `signal` is aborted. */
export type AskMedia = (asked: MediaRequest, signal: AbortSignal) => Promise<Response | undefined>;

const restartMs = 1_000;
const silentMs = 15_000;
// The process limits each host to ten seconds; a token may lead over two.
const timeoutMs = 25_000;

// Files of the program and of the folder of images: `/proc` shows the environments of other processes, `.env.local` is
// beside the program.
const permissions = (folder: string) => [
  "--permission",
  ...["src", "node_modules", "package.json"].map((path) => `--allow-fs-read=${resolve(program, path)}`),
  `--allow-fs-read=${resolve(folder)}`,
  `--allow-fs-write=${resolve(folder)}`,
  // Newer versions of Node limit the network too.
  ...(process.allowedNodeEnvironmentFlags.has("--allow-net") ? ["--allow-net"] : []),
];
const program = fileURLToPath(new URL("../../..", import.meta.url));

/**
 * Keeps a process running that fetches and checks images. It gets neither the environment nor the database, and ends
 * with this process.
 */
export function startMedia(settings: MediaSettings, log: Log) {
  const main = fileURLToPath(new URL("main.ts", import.meta.url));
  let child: ChildProcess | undefined;
  let port: number | undefined;
  let isStopped = false;

  function start(): void {
    if (isStopped) return;
    const own = fork(main, {
      execArgv: ["--max-old-space-size=256", ...permissions(settings.folder)],
      env: {},
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    child = own;
    const silence = setTimeout(() => own.kill("SIGKILL"), silentMs);
    own.on("message", (message: { port: number }) => {
      port = message.port;
      silence.refresh();
    });
    const restart = (reason: unknown) => {
      clearTimeout(silence);
      port = undefined;
      if (isStopped) return;
      log("warn", `The image process ended (${reason}); restarting it.`);
      setTimeout(start, restartMs).unref();
    };
    own.once("exit", (code, signal) => restart(signal ?? code));
    // What could not be started does not exit.
    own.on("error", (error) => own.pid === undefined && restart(error.message));
    own.send(settings, () => undefined);
  }
  start();

  const ask: AskMedia = async (asked, signal) => {
    if (port === undefined) return undefined;
    // Until the response begins: a client may read it slowly.
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), timeoutMs);
    const any = AbortSignal.any([signal, late.signal]);
    const options = { method: "POST", body: JSON.stringify(asked), signal: any };
    try {
      return await fetch(`http://127.0.0.1:${port}`, options);
    } catch {
      signal.throwIfAborted();
      const message = "The image did not arrive in time.";
      return late.signal.aborted ? Response.json({ message }, { status: 504 }) : undefined;
    } finally {
      clearTimeout(timer);
    }
  };
  return {
    ask,
    stop() {
      isStopped = true;
      child?.kill();
    },
  };
}
