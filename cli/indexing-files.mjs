// Stands in for glob in Ponder's build, which runs the files of the index and derives the build id from their text.
// What only reads the tables or serves them is not among them: a change there needs no new index.
import { globSync } from "node:fs";

const reading = /\/src\/(api|feed|read|service|status)\//;
const test = /\.(test|spec)\.\w+$/;

// ponder: asks for the files of the index with `ignore`, and without it for those of the API, to load them again under
// `ponder dev`. The order counts for the build id.
export const glob = {
  sync(pattern, options) {
    const ofIndex = options?.ignore !== undefined;
    const all = globSync(
      ofIndex ? pattern : pattern.replace("/src/api/", "/src/{api,feed,read,service,status}/"),
    );
    return all.filter((file) => !test.test(file) && reading.test(file) !== ofIndex).sort();
  },
};
