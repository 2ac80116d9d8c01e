// Runs a script with Node >= 22.18, also where the system's Node is older (this file itself runs on Node 18).
//
//   node cli/with-node.mjs <script> [arguments]
//
// A system Node that is new enough is used; else the one that npm installed as an optional dependency.
// Signals are passed on. Services end when this process ends for any reason, and when the npm that started it does.
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

const isNewEnough = (version) => {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 18);
};

const installedNode = () => {
  const platform = process.platform === "win32" ? "win" : process.platform;
  const executable = process.platform === "win32" ? "node.exe" : "node";
  const path = join(root, "node_modules", `node-${platform}-${process.arch}`, "bin", executable);
  return existsSync(path) ? path : undefined;
};

const node = isNewEnough(process.versions.node) ? process.execPath : installedNode();
if (node === undefined) {
  console.error(
    `This project needs Node 22.18 or newer; this is ${process.version} and no newer one is installed for ` +
      `${process.platform}-${process.arch}. Install a newer Node, or run "npm ci" without --omit=optional.`,
  );
  process.exit(1);
}

const [script = ""] = process.argv.slice(2);
const services = ["cli/ponder.ts", "cli/setup.ts", "labels-service/cli.ts", "devnet/start.ts"];
const isService = services.includes(relative(root, resolve(script)).split(sep).join("/"));

const preload = new URL("find-formats-once.mjs", import.meta.url).href;
const child = spawn(
  node,
  ["--disable-warning=ExperimentalWarning", "--import", preload, ...process.argv.slice(2)],
  {
    // A service sees the end of this process as the end of the channel.
    stdio: isService ? ["inherit", "inherit", "inherit", "ipc"] : "inherit",
    env: {
      // Code that Node has compiled, by the hash of its source: it makes the next start shorter. A folder that cannot
      // be written is left alone.
      NODE_COMPILE_CACHE: join(root, "node_modules", ".cache", "compiled"),
      ...process.env,
      PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ""}`,
    },
  },
);

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));

// npm cannot pass on that it was killed. Its child, a shell or this process, then gets another parent.
const readParent = (pid) => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")")).split(" ")[2];
  } catch {
    return undefined; // Not Linux, or the process is gone.
  }
};
const ancestors = () => `${process.ppid} ${readParent(process.ppid)}`;
if (isService && process.env.npm_lifecycle_event !== undefined) {
  const before = ancestors();
  setInterval(() => {
    if (ancestors() !== before) child.kill("SIGINT");
  }, 1_000);
}

child.on("error", (error) => {
  console.error(`Could not start ${node}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 1)));
