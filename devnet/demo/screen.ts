import { namehash } from "viem";
import { demoAccount } from "./showcase.ts";

/** What the screen tells of the running demo; `seconds` includes the unit. */
export type ScreenFacts = { url: string; labelsUrl: string; seconds: string; isSubgraph: boolean };

/** What to try once the demo is up: addresses for a browser, and commands by what they show. */
export function demoScreen({ url, labelsUrl, seconds, isSubgraph }: ScreenFacts): string {
  const commands = isSubgraph ? subgraphCommands(url) : allCommands(url);
  const heal = `curl -s ${labelsUrl}/v1/heal/0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0`;
  const lines = [...commands, ...commonCommands(url), [`The label behind a labelhash ("eth")`, heal]];
  return `
nsindex is up, ${seconds} after the start. ${isSubgraph ? subgraphMode : everything}

  Status     ${url}/
  GraphiQL   ${url}/subgraph
  Docs       ${url}/docs

${lines.map(([what, command]) => `${what}:\n  ${command}`).join("\n")}

Ctrl-C stops everything and leaves nothing behind.`;
}

const everything =
  "It indexes three chains with every plugin that they have contracts for.\n" +
  'Names are registered, renewed and changed every few seconds. The ENS subgraph alone: "npm run demo -- --subgraph".';
const subgraphMode =
  "It is in subgraph mode: the root chain, byte for byte as the ENS subgraph.\n" +
  'Names are registered, renewed and changed every few seconds. Three chains and all endpoints: "npm run demo".';

type Commands = [what: string, command: string][];

const graphql = (url: string, query: string) => `curl -sG ${url}/subgraph --data-urlencode 'query=${query}'`;

const newest =
  "{ registrations(first: 3, orderBy: registrationDate, orderDirection: desc) { domain { name } expiryDate registrant { id } } }";

// Names of the recording: kagam.eth has two texts, deldel.eth is wrapped.
function allCommands(url: string): Commands {
  const account = demoAccount.address.toLowerCase();
  const api = (path: string) => `curl -s '${url}/api/${path}'`;
  const owned = `{ domains(where: { owner: "${account}", name_ends_with: ".eth" }, orderBy: name) { name owner { id } expiryDate } }`;
  const onBase = `{ domains(first: 3, where: { name_ends_with: ".base.eth" }, orderBy: createdAt, orderDirection: desc) { name createdAt owner { id } } }`;
  return [
    ["The newest registrations on three chains", graphql(url, newest)],
    ["The names of an account on three chains", graphql(url, owned)],
    ["The newest names on Base", graphql(url, onBase)],
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
}

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
    ["Measurements", `curl -s ${url}/metrics | grep ^names_index_`],
  ];
}
