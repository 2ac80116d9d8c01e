import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { v2ChainId, v2Environment, v2Folder } from "../../../devnet/recorded-chains.ts";
import { readRecording } from "../../../devnet/recording.ts";
import { chainOf, currentStatus, openEndpoints } from "../../../test/support/endpoints.ts";
import { openLastIndex } from "../../../test/support/ensv2/stored-index.ts";
import { countFigures } from "../../../test/support/figures.ts";
import { describeLookup } from "../../../test/support/lookup-reference.ts";
import { indexedSubregistries } from "../../deployments/namespaces.ts";
import { openReferrals } from "../../read/events/referrals.ts";
import { indexedNamespaces } from "../../read/names/indexed-namespaces.ts";
import { knownContracts } from "../../read/names/known-contracts.ts";
import { createNamesSource } from "../../read/names/lookups.ts";
import { findV2Contracts } from "../../read/names/v2-names.ts";
import { type ApiContext, endpoints } from "../../service/endpoints.ts";
import { buildDocument } from "../kit/docs.ts";

// The samples of docs/lookup-samples.md, from the recorded chain that `npm run demo -- --ensv2` serves, and
// docs/lookup-reference.md, from the OpenAPI document. `vitest run src/api/v1/samples.test.ts -u` writes them anew.
const pageOf = (name: string) => fileURLToPath(new URL(`../../../docs/${name}`, import.meta.url));
const samples = pageOf("lookup-samples.md");
const lookups = endpoints.filter(({ path }) => path.startsWith("/v1/"));
const last = readRecording(v2Folder).blocks.at(-1);
const block = { number: Number(last?.number), timestamp: Number(last?.timestamp) };

const { index, ...stored } = await openLastIndex();
const plugins = v2Environment.PLUGINS.split(",");
const following = { chainStatus: "chain-following", latestIndexedBlock: block, latestKnownBlock: block };
const status = currentStatus("omnichain-following", block.timestamp);
Object.assign(status.snapshot.omnichainSnapshot, { chains: { [v2ChainId]: following } });
const { datasources } = index.config;
const source = {
  database: stored.database,
  namespaces: indexedNamespaces(datasources, plugins),
  hasRecords: true,
};
await countFigures(stored.client, source.namespaces, { chainId: v2ChainId, block });
const context = {
  ...chainOf(),
  ensv2: findV2Contracts(datasources),
  config: { isSubgraphCompatible: false },
  plugins,
  status: { current: () => status },
  clock: () => block.timestamp * 1_000,
  subregistries: indexedSubregistries(datasources, plugins),
  referrals: openReferrals(stored.database),
  editions: [],
  lookup: {
    ...createNamesSource(source),
    hashOf: () => String(last?.hash),
    known: knownContracts(datasources),
  },
};
const { fetch } = openEndpoints(lookups as typeof endpoints, context as unknown as ApiContext);

const width = 150;

// JSON with what fits on a line in one.
function pretty(value: unknown, indent = ""): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const members = Object.entries(value).map(
    ([key, one]) => `${Array.isArray(value) ? "" : `${JSON.stringify(key)}: `}${pretty(one, inner)}`,
  );
  const line = `${open}${members.join(", ")}${close}`;
  if (indent.length + line.length <= width && !line.includes("\n")) return line;
  return `${open}\n${members.map((one) => inner + one).join(",\n")}\n${indent}${close}`;
}

async function respond(command: string): Promise<string> {
  const [, path = "", body] = /^curl -s '?localhost:42069(\/[^\s']*)'?(?: -d '(.*)')?$/.exec(command) ?? [];
  const response = await fetch(path, body === undefined ? {} : { method: "POST", body });
  expect([command, response.status]).toEqual([command, 200]);
  const text = await response.text();
  return text.startsWith("{") ? pretty(JSON.parse(text)) : beginningOf(text.replaceAll("\r\n", "\n"));
}

// Of a calendar its first two events.
const beginningOf = (calendar: string) =>
  `${calendar.split("\nBEGIN:VEVENT").slice(0, 3).join("\nBEGIN:VEVENT")}\n…\nEND:VCALENDAR`;

test("docs/lookup-samples.md shows what the routes respond with", async () => {
  const text = readFileSync(samples, "utf8");
  const sample = /```sh\n(curl [^\n]*)\n```\n\n```(json|ics)\n[\s\S]*?\n```/g;
  const fresh = new Map<string, string>();
  for (const [, command = ""] of text.matchAll(sample)) fresh.set(command, await respond(command));
  const written = text.replaceAll(
    sample,
    (_, command: string, type: string) =>
      `\`\`\`sh\n${command}\n\`\`\`\n\n\`\`\`${type}\n${fresh.get(command)}\n\`\`\``,
  );
  // Each route has a sample, but the stream, which has no end: docs/events.md.
  const commands = [...fresh.keys()];
  const without = lookups.filter(({ path }) => {
    const pattern = new RegExp(`42069${path.replaceAll(/\{\w+\}/g, "[^/?' ]+")}[?' ]`);
    return path !== "/v1/events/stream" && !commands.some((command) => pattern.test(`${command} `));
  });
  await expect(written).toMatchFileSnapshot(samples);
  expect(without.map(({ path }) => path)).toEqual([]);
});

test("requests of docs/lookup.md find something", async () => {
  const requests = [
    ...readFileSync(pageOf("lookup.md"), "utf8").matchAll(/^ {4}curl -s '?localhost:42069(\/[^\s']*)'?$/gm),
  ];
  expect(requests.length).toBeGreaterThan(4);
  for (const [, path = ""] of requests) {
    const response = await fetch(path);
    expect([path, response.status]).toEqual([path, 200]);
    expect(await response.text(), path).not.toContain('"data":[]');
  }
});

test("docs/lookup-reference.md is what the OpenAPI document says", () =>
  expect(describeLookup(buildDocument("", endpoints))).toMatchFileSnapshot(pageOf("lookup-reference.md")));
