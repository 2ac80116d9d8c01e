import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../devnet/ports.ts";
import { waitFor } from "../../devnet/wait.ts";
import { programOf } from "./pgbouncer.ts";

/**
 * Starts nginx with deploy/nginx/nsindex.conf in front of readers, on a free port. Clients have the limits of the file
 * only with `isLimited`, and nothing is kept without `isCaching`. Needs the program, `programOf("nginx")`.
 */
export async function startNginx(readers: readonly string[], { isLimited = true, isCaching = true } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "name-index-nginx-"));
  const port = await freePort();
  const inFolder = (name: string) => join(folder, name);
  const given = readFileSync(new URL("../../deploy/nginx/nsindex.conf", import.meta.url), "utf8");
  const servers = readers.map((url) => `  server ${new URL(url).host} max_fails=50 fail_timeout=2s;\n`);
  const own = given
    .replace(/( {2}server 127.*\n)+/, servers.join(""))
    .replace("/var/cache/nginx/nsindex", inFolder("cache"))
    .replace("listen 80;", `listen 127.0.0.1:${port};`)
    .replaceAll(/^ *limit_(req|conn) zone.*|^ *limit_conn nsindex.*/gm, isLimited ? "$&" : "")
    .replace("proxy_cache nsindex;", isCaching ? "$&" : "proxy_cache off;");
  writeFileSync(inFolder("nsindex.conf"), own);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${inFolder(name)};`,
  );
  const lines = [
    ...(process.getuid?.() === 0 ? ["user root;"] : []),
    ...["daemon off;", "worker_processes 1;", `pid ${inFolder("pid")};`, `error_log ${inFolder("log")};`],
    ...[
      "events { worker_connections 1024; }",
      "http {",
      "access_log off;",
      "keepalive_requests 100000000;",
      ...temporary,
    ],
    ...[`include ${inFolder("nsindex.conf")};`, "}"],
  ];
  writeFileSync(inFolder("nginx.conf"), lines.join("\n"));
  const proxy = spawn(programOf("nginx") ?? "", ["-e", inFolder("log"), "-c", inFolder("nginx.conf")], {
    stdio: "ignore",
  });
  const url = `http://127.0.0.1:${port}`;
  await waitFor("nginx", async () => ({ done: await fetch(`${url}/metrics`) }));
  return {
    url,
    pid: proxy.pid,
    async stop() {
      const ended = new Promise((resolve) => proxy.once("exit", resolve));
      // Its worker ends with it.
      proxy.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
