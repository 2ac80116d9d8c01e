// Writes the npm package: `npm run package [-- <folder>]`. `npm pack` in a clone would make one that cannot be installed:
// deploy/npm/nsindex.mjs says why. The package holds files of git only: no data, no settings.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const program = [
  ...["abis", "cli", "devnet", "labels-service", "src", ":!*.test.ts"],
  ...["package.json", "package-lock.json", "tsconfig.json", ".env.example"],
  ...["ponder.config.ts", "ponder.schema.ts", "ponder-env.d.ts"],
];

function stage(folder: string): void {
  const files = execFileSync("git", ["ls-files", "-z", "--", ...program], { encoding: "utf8" })
    .split("\0")
    .filter(Boolean);
  const hash = createHash("sha256");
  for (const file of files) {
    hash.update(`${file}\0`).update(readFileSync(file));
    cpSync(file, join(folder, "program", file));
  }
  for (const file of ["README.md", "LICENSE"]) cpSync(file, join(folder, file));
  cpSync("deploy/npm/nsindex.mjs", join(folder, "nsindex.mjs"));
  const { name, version, description, license, repository } = JSON.parse(
    readFileSync("package.json", "utf8"),
  );
  const described = {
    ...{ name, version, description, license, repository },
    bin: { nsindex: "nsindex.mjs" },
    engines: { node: ">=20" },
    // The folder of the installed program: another one for other files.
    program: `${version}-${hash.digest("hex").slice(0, 12)}`,
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify(described, null, 2));
}

const [destination = "."] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "nsindex-package-"));
try {
  stage(folder);
  const written = execFileSync("npm", ["pack", "--json", "--pack-destination", resolve(destination)], {
    cwd: folder,
    encoding: "utf8",
  });
  const [{ filename, size, entryCount }] = JSON.parse(written);
  console.log(`${filename}: ${(size / 1e6).toFixed(1)} MB, ${entryCount} files`);
} finally {
  rmSync(folder, { recursive: true });
}
