#!/usr/bin/env node
// The program of the npm package: `nsindex <command> [options]`. It runs on Node 20, and the commands on the Node that
// cli/with-node.mjs finds.
//
// Node runs no TypeScript below node_modules, npm ignores the overrides and the lock file of a dependency, and Ponder
// writes to the folder of the project. Each version is therefore installed once for each user as in a clone: a copy of
// program/ in the user's cache folder, with the packages of its package-lock.json.
import { spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
} from "node:fs";
import { constants, homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const readJson = (path) => JSON.parse(readFileSync(join(here, path), "utf8"));
const { version, program } = readJson("package.json");

// The scripts of package.json that run a command for operators, with its arguments. `npm run dev` has an option.
const commandOfScript = /^node cli\/with-node\.mjs ((?:cli|devnet|labels-service)\/[\w-]+\.ts(?: \w+)?)$/;
const commands = new Map(
  Object.entries(readJson("program/package.json").scripts).flatMap(([name, script]) => {
    const [, command] = commandOfScript.exec(script) ?? [];
    return command === undefined ? [] : [[name, command.split(" ")]];
  }),
);

const help = `Usage: nsindex <command> [options]

Commands: ${[...commands.keys()].sort().join(", ")}

  nsindex demo              tries it: no keys, no network, no database
  nsindex doctor            checks the configuration
  nsindex start             indexes and serves
  nsindex <command> --help  describes a command; where it says "npm run <command> --", write "nsindex <command>"

The environment configures it, or .env.local in this folder. Every variable is in
${join(here, "program", ".env.example")}`;

function runNpm(cwd) {
  const options = ["--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  // Standard output belongs to the command.
  const child = spawn("npm", ["ci", ...options], { cwd, stdio: ["ignore", 2, 2] });
  const pass = (signal) => child.kill(signal);
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) process.on(signal, pass);
  return new Promise((settle) => {
    child.on("error", ({ message }) => {
      console.error(message);
      settle(127);
    });
    child.on("close", (code, signal) => settle(code ?? 128 + constants.signals[signal]));
  }).finally(() => {
    for (const signal of signals) process.off(signal, pass);
  });
}

async function install(folder) {
  console.error(`Installing the packages of nsindex ${version} in ${folder}, once …`);
  mkdirSync(dirname(folder), { recursive: true });
  const unfinished = mkdtempSync(`${folder}-`);
  try {
    cpSync(join(here, "program"), unfinished, { recursive: true });
    const code = await runNpm(unfinished);
    if (code === 0) renameSync(unfinished, folder);
    return code;
  } catch (error) {
    // Another process may have been first.
    if (existsSync(folder)) return 0;
    throw error;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

async function main([name, ...options]) {
  const command = commands.get(name);
  if (command === undefined) {
    if (name === "--version") return console.log(version);
    if (name === undefined || name === "--help") return console.log(help);
    console.error(help);
    process.exitCode = 1;
    return;
  }
  const folder = resolve(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "nsindex", program);
  const code = existsSync(folder) ? 0 : await install(folder);
  if (code !== 0) {
    if (code < 128)
      console.error(
        `"npm ci" ended with exit code ${code}. Correct what it names, then run the command again.`,
      );
    process.exitCode = code;
    return;
  }
  const root = realpathSync(folder);
  const [script, ...given] = command;
  process.argv.splice(2, process.argv.length, join(root, script), ...given, ...options);
  await import(pathToFileURL(join(root, "cli/with-node.mjs")).href);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  // Errors of the file system have one.
  if (error.syscall === undefined) throw error;
  console.error(`${error.message}\nCorrect this, or set XDG_CACHE_HOME to another folder.`);
  process.exitCode = 1;
}
