import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLabelsServer, type ServerLimits } from "../../../labels-service/http/server.ts";
import { createLiveDatabase } from "../../../labels-service/store/live-database.ts";
import { ingestBytes } from "./commands.ts";

/** Labels of version 0 that are hard to carry. */
export const unusualLabels = [
  "",
  "\0",
  "a.b",
  '"quoted"',
  "back\\slash\\ud800",
  "cr\rhere",
  "\u2028\u2029",
  "\u007f\u0085\u202e",
  "x".repeat(120_000),
];

/**
 * A label server on a real socket. Its database holds "eth", "xyz" and the unusual labels in version 0 and "new"
 * in version 1, and is not attached before `database.reload`; `older` is the file of version 0 alone.
 */
export async function startServer(limits: Partial<ServerLimits> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "server-"));
  const [databasePath, older] = [join(folder, "labels.sqlite"), join(folder, "version-0.sqlite")];
  await ingestBytes(["eth", "xyz", ...unusualLabels].join("\n"), { databasePath, format: "text" });
  copyFileSync(databasePath, older);
  await ingestBytes("new\neth\n", { databasePath, labelSetVersion: 1 });
  const logged: string[] = [];
  const log = (level: string, message: string) => void logged.push(`${level} ${message}`);
  const database = createLiveDatabase(databasePath, log);
  const now = () => new Date("2026-01-02T03:04:05.678Z");
  const server = createLabelsServer({ database, log, now, logsRequests: false, limits });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const base = `http://127.0.0.1:${port}`;

  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(base + path, init);
    const text = await response.text();
    const type = response.headers.get("content-type");
    return { status: response.status, type, body: type === "application/json" ? JSON.parse(text) : text };
  };
  const post = (body: unknown) =>
    ask("/v1/heal", { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) });
  const connections = () =>
    new Promise<number>((resolve, reject) => {
      server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    });
  const sockets: Socket[] = [];
  server.on("connection", (socket) => sockets.push(socket));
  const received = () => sockets.reduce((bytes, socket) => bytes + socket.bytesRead, 0);
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    database.close();
    rmSync(folder, { recursive: true });
  };
  return { base, port, database, databasePath, older, logged, ask, post, connections, received, stop };
}

/** What `ask` gives for an error body. */
export const errorReply = (status: number, error: string) => ({
  status,
  type: "application/json",
  body: { status: "error", error, errorCode: status },
});

/** What `ask` gives for 200 with a JSON body. */
export const jsonReply = (body: unknown) => ({ status: 200, type: "application/json", body });
