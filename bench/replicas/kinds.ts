import type { Hex } from "viem";
import { clock, decodeFact, type Fact } from "./clock.ts";

/** The block that an answer names, and those that its rows tell of. */
export type Answer = { named: Fact; hash?: Hex | null; facts: Fact[] };

/** A kind of request. */
export type Kind = {
  /** A path, or a body that is sent to it. `min`: the newest block that the client has seen. */
  request(min: number): { path: string; body?: object };
  // biome-ignore lint/suspicious/noExplicitAny: bodies of many forms
  read(body: any): Answer;
};

type Row = { blockNumber: number; value: string; owner: { id: string }; createdAt: string };
type Domain = { owner: { id: string }; subdomainCount: number; resolver: { textChangeds: Row[] } };
const newest = "first: 1, orderBy: blockNumber, orderDirection: desc";
const ofDomain = `owner { id } subdomainCount resolver { textChangeds(${newest}) { value blockNumber } }`;

let count = 0;
const graph = (fields: (block: string) => string, facts: (data: never) => Fact[]): Kind => ({
  request(min) {
    const block = `block: { number_gte: ${min} }`;
    const query = `{ _meta(${block}) { block { number timestamp hash } } ${fields(block)} }`;
    count += 1;
    const path = "/subgraph";
    return count % 2 === 0
      ? { path, body: { query } }
      : { path: `${path}?${new URLSearchParams({ query })}` };
  },
  read({ data }) {
    const { number, timestamp, hash } = data._meta.block;
    return { named: { number, timestamp }, hash, facts: facts(data as never) };
  },
});

// To /subgraph, by GET and POST in turn. `base`: the block before the first subname of `clock.eth`.
function graphKinds(base: number): Kind[] {
  const factsOf = ({ owner, subdomainCount, resolver: { textChangeds: rows } }: Domain): Fact[] => [
    decodeFact(owner.id),
    { number: base + subdomainCount },
    ...rows.flatMap(({ value, blockNumber }) => [decodeFact(value), { number: blockNumber }]),
  ];
  const byId = graph(
    (block) => `domain(id: "${clock}", ${block}) { ${ofDomain} }`,
    ({ domain }: { domain: Domain }) => factsOf(domain),
  );
  const byName = graph(
    (block) => `domains(where: { name: "clock.eth" }, ${block}) { ${ofDomain} }`,
    ({ domains: [domain] }: { domains: [Domain] }) => factsOf(domain),
  );
  const list = graph(
    (block) =>
      `domains(first: ${5 + Math.floor(Math.random() * 20)}, orderBy: createdAt, orderDirection: desc, where: { parent: "${clock}" }, ${block}) { name createdAt owner { id } parent { ${ofDomain} } }`,
    ({ domains: [row] }: { domains: [Row & { parent: Domain }] }) => [
      { timestamp: Number(row.createdAt) },
      decodeFact(row.owner.id),
      ...factsOf(row.parent),
    ],
  );
  const events = graph(
    (block) =>
      `transfers(${newest}, ${block}) { blockNumber owner { id } } nameRegistereds(${newest}, ${block}) { blockNumber }`,
    ({ transfers: [moved], nameRegistereds: [sold] }: { transfers: [Row]; nameRegistereds: [Row] }) => [
      decodeFact(moved.owner.id),
      { number: moved.blockNumber },
      { number: sold.blockNumber },
    ],
  );
  const meta = graph(
    () => "",
    () => [],
  );
  return [byId, byId, byId, byName, byName, list, events, meta];
}

type Name = { manager: string; records: { texts: { url: string } } };
type Event = { block_number: number; timestamp: string };

function restKinds(chainId: string): Kind[] {
  const minBlockOf = (min: number) => `min_block=${chainId}:${min}`;
  const v1 = (path: string, facts: (data: never) => Fact[], body?: object): Kind => ({
    request: (min) => ({
      path: `${path}${path.includes("?") ? "&" : "?"}${minBlockOf(min)}`,
      ...(body && { body }),
    }),
    read({ data, meta }) {
      const { block_number: number, timestamp, block_hash: hash } = meta.as_of[chainId];
      return { named: { number, timestamp: Number(timestamp) }, hash, facts: facts(data as never) };
    },
  });
  const factsOf = ({ manager, records }: Name) => [decodeFact(manager), decodeFact(records.texts.url)];
  const ofEvent = ([event]: [Event]) => [{ number: event.block_number, timestamp: Number(event.timestamp) }];
  const name = v1("/v1/names/clock.eth", factsOf);
  const inputs = { inputs: [{ name: "clock.eth" }], profile: "detail" };
  const actions: Kind = {
    request: (min) => ({ path: `/api/registrar-actions?recordsPerPage=5&${minBlockOf(min)}` }),
    read: ({ accurateAsOf, registrarActions: [{ action }] }) => ({
      named: { timestamp: accurateAsOf },
      facts: [action.block, decodeFact(action.registrant)],
    }),
  };
  return [
    ...[name, name, v1("/v1/lookup", ([row]: [{ record: Name }]) => factsOf(row.record), inputs)],
    ...[v1("/v1/names/clock.eth/history?page_size=5", ofEvent), v1("/v1/events?page_size=10", ofEvent)],
    ...[v1("/v1/search?q=clock", ([{ manager }]: [Name]) => [decodeFact(manager)]), actions],
  ];
}

/** The kinds of requests, each as often as its share of a mix. */
export const listKinds = ({ chainId, base }: { chainId: string; base: number }): Kind[] => [
  ...graphKinds(base),
  ...restKinds(chainId),
];
