import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { createGzip } from "node:zlib";
import { createRandom } from "../../devnet/random.ts";
import { keccak256 } from "../../src/ens/keccak.ts";

const words =
  "alpha bank coin data east farm gold home iris jump kilo lake moon nova open park quiz rock sun tree unit vega wind xeno yard zone shop club".split(
    " ",
  );

// What is actually registered besides plain words: escapes of the dump, line breaks, other alphabets, empty space.
const oddLabels = [
  "back\\slash",
  "tab\there",
  "line\nbreak",
  "cr\rhere",
  "\u2028",
  " lead",
  "trail ",
  "é",
  "名前",
  "👩‍🚀",
  '"007"',
  "a.b",
];

/** The labels of the generated set: mean length 13 bytes, one in a thousand odd, one of 120 kB. Always the same. */
export function* generatedLabels(count: number): Generator<string> {
  const { below, pick } = createRandom(20_240_130);
  yield "x".repeat(120_000);
  for (let i = 1; i < count; i++) {
    const id = i.toString(36);
    if (i % 1000 === 0) yield `${pick(oddLabels)}${id}`;
    else yield `${pick(words)}${below(2) === 0 ? pick(words) : `-${below(1000)}`}${id}`;
  }
}

/** Writes the labels as a gzipped SQL dump like The Graph's `ens_names.sql.gz`, its stray header row included. */
export async function writeDump(path: string, count: number): Promise<void> {
  const gzip = createGzip({ level: 1 });
  const file = gzip.pipe(createWriteStream(path));
  const write = async (text: string) => {
    if (!gzip.write(text)) await once(gzip, "drain");
  };
  await write("--\n-- PostgreSQL database dump\n--\n\nSET statement_timeout = 0;\n");
  await write(
    "CREATE TABLE public.ens_names (\n    hash character varying,\n    name character varying\n);\n",
  );
  let text = "COPY public.ens_names (hash, name) FROM stdin;\nhash\tname\n";
  for (const label of generatedLabels(count)) {
    text += `${keccak256(label)}\t${escaped(label)}\n`;
    if (text.length < 1 << 20) continue;
    await write(text);
    text = "";
  }
  gzip.end(`${text}\\.\n`);
  await once(file, "finish");
}

const escapes: Record<string, string> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };

function escaped(label: string): string {
  return label.replace(/[\\\t\n\r]/g, (character) => escapes[character] ?? character);
}
