import { namehash } from "viem";
import type { DemoWorld } from "./chains.ts";
import { demoAccount } from "./showcase.ts";

/** What the screen tells of the running demo; `seconds` includes the unit. */
export type ScreenFacts = {
  url: string;
  labelsUrl: string;
  seconds: string;
  world: DemoWorld;
  /** Whether all commands are shown, not ten. */
  isAll: boolean;
};

/** What to try once the demo is up: addresses for a browser, and commands by what they show. */
export function demoScreen({ url, labelsUrl, seconds, world, isAll }: ScreenFacts): string {
  const heal = `curl -s ${labelsUrl}/v1/heal/0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0`;
  const groups: Group[] = [
    ...groupsOf[world](url),
    [
      "The service and its labels",
      2,
      [[`The label behind a labelhash ("eth")`, heal], ...commonCommands(url)],
    ],
  ];
  const texts = groups.map(([title, few, commands]) => {
    const lines = commands
      .slice(0, isAll ? undefined : few)
      .map(([what, command]) => `${what}:\n  ${command}`);
    return [`-- ${title}`, ...lines].join("\n");
  });
  const more = isAll ? "" : 'All commands: "npm run demo -- --all".\n';
  return `
nsindex is up, ${seconds} after the start. ${shown[world]}

  Status     ${url}/
  GraphiQL   ${url}/subgraph
  Docs       ${url}/docs

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

type Commands = [what: string, command: string][];

/** `few`: how many of the commands are shown first. */
type Group = [title: string, few: number, commands: Commands];

const graphql = (url: string, query: string) => `curl -sG ${url}/subgraph --data-urlencode 'query=${query}'`;

const newest =
  "{ registrations(first: 3, orderBy: registrationDate, orderDirection: desc) { domain { name } expiryDate registrant { id } } }";

// Names of the recording: kagam.eth has two texts, deldel.eth is wrapped.
function allCommands(url: string): Group[] {
  const account = demoAccount;
  const api = (path: string) => `curl -s '${url}/api/${path}'`;
  const owned = `{ domains(where: { owner: "${account}", name_ends_with: ".eth" }, orderBy: name) { name owner { id } expiryDate } }`;
  const onBase = `{ domains(first: 3, where: { name_ends_with: ".base.eth" }, orderBy: createdAt, orderDirection: desc) { name createdAt owner { id } } }`;
  const ofSubgraph: Commands = [
    ["The newest registrations on three chains", graphql(url, newest)],
    ["The names of an account on three chains", graphql(url, owned)],
    ["The newest names on Base", graphql(url, onBase)],
  ];
  const ofRest: Commands = [
    [
      "The newest registrations and renewals, with prices and referrers",
      api("registrar-actions?recordsPerPage=3"),
    ],
    ["Those under linea.eth", api(`registrar-actions/${namehash("linea.eth")}?recordsPerPage=3`)],
    ["The tokens of a wrapped name", api("name-tokens?name=deldel.eth")],
    ["The newest sales", api("name-sales?recordsPerPage=3")],
    [
      "Records of a name, from the index",
      api("resolve/records/kagam.eth?addresses=60&texts=location,name&accelerate=true"),
    ],
    [
      "Records of a name on Base, by asking the chains",
      api("resolve/records/demo.base.eth?addresses=60&texts=url,description&contenthash=true"),
    ],
    ["The primary name of an account", api(`resolve/primary-name/${account}/1`)],
    [
      "Its primary names on three chains, from the index",
      api(`resolve/primary-names/${account}?accelerate=true`),
    ],
  ];
  return [
    ["GraphQL", 2, ofSubgraph],
    ["Registrations, tokens, records", 3, ofRest],
    ["Names as applications ask for them", 3, lookupCommands(url, account)],
  ];
}

function lookupCommands(url: string, account: string): Commands {
  const get = (path: string) => `curl -s "${url}/v1/${path}"`;
  const inputs = JSON.stringify({ inputs: [{ name: "demo.eth" }, { address: account }] });
  return [
    [
      "Who a name and an address are, of up to 1,000 in one request",
      `curl -s ${url}/v1/lookup -H 'content-type: application/json' -d '${inputs}'`,
    ],
    ["A name: holder, manager, state of its wrapper, records", get("names/deldel.eth")],
    ["What happened to it", get("names/deldel.eth/history?page_size=5")],
    ["The names of an account by role, on all chains", get(`addresses/${account}/names?page_size=5`)],
    ["Names that begin with what someone types", get("search?q=dem&page_size=5")],
    [
      "The names that expire next",
      get("names?namespace=ens&expires_after=$(date +%s)&order=asc&page_size=3"),
    ],
    ["Its deadlines, for a calendar program", get(`addresses/${account}/calendar.ics`)],
    ["The newest registrations and renewals as events", get("events?type=registration,renewal&page_size=3")],
    ["How far each chain is behind", get("status")],
  ];
}

// Names of the recording: jadesaffron.eth has subnames in a registry of its own, honey974.eth is reserved for its holder in ENSv1.
function secondGenerationCommands(url: string): Commands {
  const api = (path: string) => `curl -s '${url}/api/${path}'`;
  return [
    [
      "Who may do what with a name, and its owner, resolver and expiry",
      api("permissions?name=jadesaffron.eth"),
    ],
    [
      "What an account may do",
      api("permissions?account=0xa65d1221976b763c2de3385268be31749004490e&recordsPerPage=3"),
    ],
    ["A name that is still in force in ENSv1", api("permissions?name=honey974.eth")],
    ["A name in a registry that its parent's holder chose", api("permissions?name=pay.jadesaffron.eth")],
    ["The token of a name", api("name-tokens?name=jadesaffron.eth")],
    [
      "Records of a name, from the index",
      api("resolve/records/olive599.eth?addresses=60&texts=description&accelerate=true"),
    ],
    ["The newest registrations and renewals", api("registrar-actions?recordsPerPage=3")],
  ];
}

const groupsOf: Record<DemoWorld, (url: string) => Group[]> = {
  everything: allCommands,
  subgraph: (url) => [["GraphQL", 3, subgraphCommands(url)]],
  ensv2: (url) => [["Names of both generations", 7, secondGenerationCommands(url)]],
};

function subgraphCommands(url: string): Commands {
  const withRecords =
    "{ domains(first: 3, where: { resolver_: { texts_not: null } }, orderBy: createdAt, orderDirection: desc) { name owner { id } resolver { addr { id } texts coinTypes } } }";
  const history = `{ domains(where: { name: "juriras.eth" }) { name events { __typename blockNumber } } }`;
  return [
    ["The newest registrations", graphql(url, newest)],
    ["The newest names with text records, their owners and records", graphql(url, withRecords)],
    ["The history of a name that was wrapped for a while", graphql(url, history)],
  ];
}

function commonCommands(url: string): Commands {
  return [
    ["How far the index is, chain by chain", `curl -s ${url}/api/indexing-status`],
    ["Whether it is in real time", `curl -s ${url}/amirealtime`],
    ["What is indexed", `curl -s ${url}/api/config`],
    [
      "A hash of all rows, to compare with another operator; the first comes within ten minutes",
      `curl -s ${url}/api/checksum`,
    ],
    ["Measurements", `curl -s ${url}/metrics | grep ^nsindex_index_`],
  ];
}
