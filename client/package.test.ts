import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { buildSync } from "esbuild";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

// The package as it is packed, in the folder of somebody who has installed it.

const client = import.meta.dirname;
const modules = join(client, "../node_modules");
const folder = mkdtempSync(join(tmpdir(), "nsindex-client-"));
const installed = join(folder, "node_modules/@nsindex/client");
afterAll(() => rmSync(folder, { recursive: true }));

const run = (command: string, options: string[], cwd = folder) => {
  try {
    return execFileSync(command, options, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(stdout + stderr);
  }
};

let files: string[] = [];

beforeAll(() => {
  run("npm", ["run", "build", "--silent"], client);
  const [packed] = JSON.parse(
    run("npm", ["pack", "--json", "--silent", "--pack-destination", folder], client).replace(/^[^[]*/, ""),
  );
  files = packed.files.map(({ path }: { path: string }) => path);
  mkdirSync(installed, { recursive: true });
  run("tar", ["xf", packed.filename, "--strip-components=1", "-C", installed]);
  for (const name of ["react", "@tanstack", "@types", "graphql", "graphql-request"])
    symlinkSync(join(modules, name), join(folder, "node_modules", name));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
}, 120_000);

test("it holds what is built, and nothing else", () => {
  expect(files.filter((path) => !/^(package\.json|README\.md|dist\/[\w.]+\.(js|d\.ts))$/.test(path))).toEqual(
    [],
  );
  expect(files.filter((path) => path.includes(".test."))).toEqual([]);
});

// In bytes, as a bundler ships an entry alone: minified and compressed.
test.each([
  ["index", 4_000],
  ["webhooks", 1_000],
  ["queries", 1_000],
  ["react", 2_000],
])("%s has no dependencies but its peers, and at most %i bytes", (entry, max) => {
  const { outputFiles } = buildSync({
    ...{ entryPoints: [join(installed, `dist/${entry}.js`)], external: ["react", "@tanstack/react-query"] },
    ...{ bundle: true, minify: true, format: "esm", write: false },
  });
  const [bundle] = outputFiles;
  expect(gzipSync(bundle?.contents ?? "", { level: 9 }).length).toBeLessThan(max);
});

test("publint finds nothing", async () => {
  const { messages } = await publint({ pkgDir: installed, pack: false, strict: true });
  expect(messages).toEqual([]);
});

test("it loads in Node, as a server that renders with it does", () => {
  const script =
    "for (const path of ['', '/webhooks', '/queries', '/react']) await import('@nsindex/client' + path)";
  writeFileSync(join(folder, "load.mjs"), script);
  run(process.execPath, ["load.mjs"]);
  const [hooks = "", queries = ""] = ["react", "queries"].map((name) =>
    readFileSync(join(installed, `dist/${name}.js`), "utf8"),
  );
  expect(hooks.startsWith('"use client";')).toBe(true);
  // Else a server component could not call them.
  expect(queries).not.toContain("use client");
});

const typesTest = `
import { createClient, type EntryData, type HistoryEntry, type List, type Name } from "@nsindex/client";
import { namesOfQuery } from "@nsindex/client/queries";
import type { Domain } from "@nsindex/client/subgraph";
import { QueryClient } from "@tanstack/react-query";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <T extends true>(): T | undefined => undefined;
const index = createClient({ url: "https://index.test", apiKey: undefined });

holds<Same<Awaited<ReturnType<typeof index.name>>, Name | null>>();
holds<Same<ReturnType<typeof index.history>, List<HistoryEntry>>>();
holds<Same<Domain["createdAt"], string>>();
index.history("a.eth", { type: "renewal", order: "asc", page_size: 3, include: undefined });
index.expiries({ namespace: "ens", has_avatar: true, expires_window: ["1..2", "3..4"] });
// @ts-expect-error: a namespace is needed
index.expiries({});
// @ts-expect-error: no such order
index.history("a.eth", { order: "up" });
// @ts-expect-error: the client sends it
index.history("a.eth", { min_block: "1:1" });

export function read(data: EntryData, { status }: Name, message: { event: "event"; data: HistoryEntry }) {
  if (data.action === "token_transferred") data.from?.slice();
  // @ts-expect-error: of transfers only
  else data.from;
  // A word of a later service.
  if (status === "frozen" || message.data.type === "aura") return;
  holds<Same<typeof status, Name["status"]>>();
}

export async function prefetch(queries: QueryClient) {
  await queries.prefetchInfiniteQuery(namesOfQuery(index, "0x"));
  const known = queries.getQueryData(namesOfQuery(index, "0x").queryKey);
  holds<Same<NonNullable<typeof known>["pages"][number]["data"], Name[]>>();
}
`;

// Of packages that are not at hand, what the samples call.
const stubs = `
declare module "wagmi" {
  type Hash = \`0x\${string}\`;
  type Connector = { id: string };
  type Given = { chains: { id: number }[]; connectors: Connector[]; transports: object; ssr: boolean };
  export function createConfig(config: Given): object;
  export function http(): object;
  export function injected(): Connector;
  export function useConnect(): { mutate: (options: { connector: Connector }) => void };
  export function useConnection(): { address: Hash | undefined };
  export function useWaitForTransactionReceipt(options: { hash: Hash }): {
    data: { chainId: number; blockNumber: bigint; status: "success" | "reverted" } | undefined;
  };
  type Properties = { config: object; children: import("react").ReactNode };
  export function WagmiProvider(properties: Properties): import("react").ReactNode;
}
declare module "wagmi/chains" {
  export const mainnet: { id: 1 };
}
declare const process: { env: Record<string, string | undefined> };
`;

describe("types and the samples of the README", () => {
  const samples = [...readFileSync(join(client, "README.md"), "utf8").matchAll(/^```(tsx?)\n(.*?)^```$/gms)];
  // Files of an app, in one folder here.
  const sources = samples.map(([, type, text = ""], index) => ({
    path: /^\/\/ .*\/([\w.]+)\n/.exec(text)?.[1] ?? `sample-${index}.${type}`,
    text: text.replace(/"\.\.?\/(\w+)"/g, '"./$1.js"'),
  }));

  test("are there", () => expect(sources.length).toBeGreaterThan(10));

  test.each([
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ])(
    "hold with module %s and resolution %s",
    (module, moduleResolution) => {
      const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
      const lib = ["es2023", "dom", "dom.iterable", "dom.asynciterable"];
      const compilerOptions = {
        ...strict,
        module,
        moduleResolution,
        lib,
        target: "es2022",
        types: [],
        noEmit: true,
      };
      for (const { path, text } of [
        { path: "types.ts", text: typesTest },
        { path: "stubs.d.ts", text: stubs },
        ...sources,
      ])
        writeFileSync(join(folder, path), text);
      const include = ["*.ts", "*.tsx"];
      const settings = { compilerOptions: { ...compilerOptions, jsx: "react-jsx" }, include };
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
      expect(run(process.execPath, [join(modules, "typescript/bin/tsc")])).toBe("");
    },
    120_000,
  );
});
