import { namehash } from "viem";
import type { DemoWorld } from "./chains.ts";
import { demoAccount } from "./showcase.ts";
import { shownNames } from "./shown-names.ts";

/** What the screen tells of the running demo; `seconds` includes the unit. */
export type ScreenFacts = {
  url: string;
  labelsUrl: string;
  /** The file with what the webhook received. */
  received: string;
  seconds: string;
  world: DemoWorld;
  /** Whether all commands are shown, not ten. */
  isAll: boolean;
};

/** What to try once the demo is up: addresses for a browser, and commands by what they show. */
export function demoScreen({ url, labelsUrl, received, seconds, world, isAll }: ScreenFacts): string {
  // Nothing happens on the chain with ENSv2.
  const feed = world === "ensv2" ? "" : feedCommands(url, received);
  const groups = [groupsOf[world](url), feed, serviceCommands(url, labelsUrl)]
    .join("\n")
    .split("\n-- ")
    .slice(1);
  const texts = groups.map((group) => {
    const [title = "", ...lines] = group.trim().split("\n");
    const [, name = "", few] = /^(.*), (\d+)$/.exec(title) ?? [];
    return [`-- ${name}`, ...lines.slice(0, isAll ? undefined : 2 * Number(few))].join("\n");
  });
  const more = isAll ? "" : 'All commands: "npm run demo -- --all".\n';
  return `
nsindex is up, ${seconds} after the start. ${shown[world]}

  Status     ${url}/
  GraphiQL   ${url}/subgraph
  Docs       ${url}/docs
${links[world].map(([what, path]) => `  ${what.padEnd(11)}${url}${path}\n`).join("")}
${texts.join("\n\n")}

${more}Ctrl-C stops everything and leaves nothing behind.`;
}

const shown: Record<DemoWorld, string> = {
  everything:
    "It indexes three chains with every plugin that they have contracts for.\n" +
    "Names are registered, renewed and changed every few seconds.\n" +
    'The ENS subgraph alone: "npm run demo -- --subgraph". ENSv2: "npm run demo -- --ensv2".',
  subgraph:
    "It is in subgraph mode: the root chain, byte for byte as the ENS subgraph.\n" +
    'Names are registered, renewed and changed every few seconds. Three chains and all endpoints: "npm run demo".',
  ensv2:
    "It indexes a recorded chain with the contracts of ENSv1 and ENSv2; new blocks are empty.\n" +
    'Three chains of ENSv1 with live names: "npm run demo".',
};

const { wrapped, premium, agent } = shownNames;

// What each of the demos has to look at: names that it mines, or that its recording has.
const links: Record<DemoWorld, readonly [what: string, path: string][]> = {
  everything: [
    ["Avatar", "/ens-test-env/avatar/demo.eth"],
    ["Referrers", "/v1/referrers"],
    ["Wrapped", `/name/${wrapped}`],
    ["Premium", `/name/${premium}`],
    ["Agent", `/name/${agent}`],
  ],
  subgraph: [],
  ensv2: [["Wrapped", "/name/wave449.eth"]],
};

const graphql = (url: string, query: string) => `curl -sG ${url}/subgraph --data-urlencode 'query=${query}'`;

// Indented by what every machine with npm has.
const json = (command: string) => `${command} | node -p 'JSON.stringify(JSON.parse(fs.readFileSync(0)),0,2)'`;

const newest =
  "{ registrations(first: 3, orderBy: registrationDate, orderDirection: desc) { domain { name } expiryDate registrant { id } } }";
const owned = `{ domains(where: { owner: "${demoAccount}", name_ends_with: ".eth" }, orderBy: name) { name owner { id } expiryDate } }`;
const withRecords =
  "{ domains(first: 3, where: { resolver_: { texts_not: null } }, orderBy: createdAt, orderDirection: desc) { name owner { id } resolver { addr { id } texts coinTypes } } }";
const history = `{ domains(where: { name: "juriras.eth" }) { name events { __typename blockNumber } } }`;
const special = `{ domains(where: { name_in: ["${wrapped}", "${premium}", "${agent}"] }, orderBy: name) { name expiryDate wrappedDomain { fuses } resolver { texts } } }`;
const inputs = JSON.stringify({ inputs: [{ name: "demo.eth" }, { address: demoAccount }] });

// Groups of commands: a title and how many of them are shown first, then what each shows and the command. Names are of
// the recordings: kagam.eth has two texts, deldel.eth is wrapped; jadesaffron.eth has subnames in a registry of its
// own, honey974.eth is reserved for its holder in ENSv1.
const groupsOf: Record<DemoWorld, (url: string) => string> = {
  everything: (url) => `
-- GraphQL, 2
The newest registrations on three chains:
  ${json(graphql(url, newest))}
The names of an account on three chains:
  ${json(graphql(url, owned))}
-- Registrations, tokens, records, 2
The newest registrations and renewals, with prices and referrers:
  ${json(`curl -s '${url}/api/registrar-actions?recordsPerPage=3'`)}
Those under linea.eth:
  ${json(`curl -s '${url}/api/registrar-actions/${namehash("linea.eth")}?recordsPerPage=3'`)}
The tokens of a wrapped name:
  ${json(`curl -s '${url}/api/name-tokens?name=deldel.eth'`)}
The newest sales:
  ${json(`curl -s '${url}/api/name-sales?recordsPerPage=3'`)}
Records of a name, from the index:
  ${json(`curl -s '${url}/api/resolve/records/kagam.eth?addresses=60&texts=location,name&accelerate=true'`)}
Records of a name on Base, by asking the chains:
  ${json(`curl -s '${url}/api/resolve/records/demo.base.eth?addresses=60&texts=url,description&contenthash=true'`)}
The primary name of an account:
  ${json(`curl -s '${url}/api/resolve/primary-name/${demoAccount}/1'`)}
Its primary names on three chains, from the index:
  ${json(`curl -s '${url}/api/resolve/primary-names/${demoAccount}?accelerate=true'`)}
-- Names as applications ask for them, 2
Who a name and an address are, of up to 1,000 in one request:
  ${json(`curl -s ${url}/v1/lookup -H 'content-type: application/json' -d '${inputs}'`)}
A name: holder, manager, state of its wrapper, records:
  ${json(`curl -s "${url}/v1/names/deldel.eth"`)}
What happened to it:
  ${json(`curl -s "${url}/v1/names/deldel.eth/history?page_size=5"`)}
The names of an account by role, on all chains:
  ${json(`curl -s "${url}/v1/addresses/${demoAccount}/names?page_size=5"`)}
Names that begin with what someone types:
  ${json(`curl -s "${url}/v1/search?q=dem&page_size=5"`)}
The names that expire next:
  ${json(`curl -s "${url}/v1/names?namespace=ens&expires_after=$(date +%s)&order=asc&page_size=3"`)}
Its deadlines, for a calendar app:
  curl -s "${url}/v1/addresses/${demoAccount}/calendar.ics"
The newest registrations and renewals as events:
  ${json(`curl -s "${url}/v1/events?type=registration,renewal&page_size=3"`)}
The lag of each chain:
  ${json(`curl -s "${url}/v1/status"`)}`,
  subgraph: (url) => `
-- GraphQL, 4
A name of an agent, one in its premium auction, and a wrapped one with burned fuses:
  ${json(graphql(url, special))}
The newest registrations:
  ${json(graphql(url, newest))}
The newest names with text records, their owners and records:
  ${json(graphql(url, withRecords))}
The history of a name that was wrapped for a while:
  ${json(graphql(url, history))}`,
  ensv2: (url) => `
-- Names of both generations, 7
Who may do what with a name, and its owner, resolver and expiry:
  ${json(`curl -s '${url}/api/permissions?name=jadesaffron.eth'`)}
What an account may do:
  ${json(`curl -s '${url}/api/permissions?account=0xa65d1221976b763c2de3385268be31749004490e&recordsPerPage=3'`)}
A name that is still in force in ENSv1:
  ${json(`curl -s '${url}/api/permissions?name=honey974.eth'`)}
A name in a registry that its parent's holder chose:
  ${json(`curl -s '${url}/api/permissions?name=pay.jadesaffron.eth'`)}
The token of a name:
  ${json(`curl -s '${url}/api/name-tokens?name=jadesaffron.eth'`)}
Records of a name, from the index:
  ${json(`curl -s '${url}/api/resolve/records/olive599.eth?addresses=60&texts=description&accelerate=true'`)}
The newest registrations and renewals:
  ${json(`curl -s '${url}/api/registrar-actions?recordsPerPage=3'`)}`,
};

const feedCommands = (url: string, received: string) => `
-- Events as they happen, until Ctrl-C, 2
Each registration and renewal from now on:
  curl -sN '${url}/v1/events/stream?type=registration,renewal'
What a webhook of registrations has received:
  tail -n 5 -f '${received}'`;

const serviceCommands = (url: string, labelsUrl: string) => `
-- The service and its labels, 2
The label behind a labelhash ("eth"):
  ${json(`curl -s ${labelsUrl}/v1/heal/0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0`)}
Indexing progress of each chain:
  ${json(`curl -s ${url}/api/indexing-status`)}
Whether it is in real time:
  ${json(`curl -s ${url}/amirealtime`)}
What is indexed:
  ${json(`curl -s ${url}/api/config`)}
A hash of all rows, to compare with another operator; the first comes within ten minutes:
  ${json(`curl -s ${url}/api/checksum`)}
Measurements:
  curl -s ${url}/metrics | grep ^nsindex_index_`;
