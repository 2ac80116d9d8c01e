// Preloaded where large packages are loaded: an eighth of the CPU time of a start went into finding their files.
import { registerHooks } from "node:module";

// Node parses the `exports` of a package for each of its files: Drizzle's are 175 KB, for hundreds of files. The others have a
// thousand files, each of which Node looks for on the disk. One file of these packages names another one as it is.
const ofPackages = /\/node_modules\/(drizzle-orm|kysely\/dist\/esm|ox\/_esm|viem\/_esm)\/.*\.js$/;
const isFile = /^\.\.?\/.*\.js$/;

registerHooks({
  resolve(specifier, context, next) {
    const importer = context.parentURL ?? "";
    if (!isFile.test(specifier) || !ofPackages.test(importer)) return next(specifier, context);
    return { url: new URL(specifier, importer).href, format: "module", shortCircuit: true };
  },
});
