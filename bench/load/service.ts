import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Hex } from "viem";
import { clientQueries, type KnownName } from "../subgraph/queries.ts";
import { type LoadResult, requestOf } from "./load.ts";
import type { LoadJob } from "./load-process.ts";

/** A process that loads the service at a port over 16 connections, each picking from some requests, after a second of warm-up. */
export function startLoad(seconds: number) {
  const client = fork(fileURLToPath(new URL("load-process.ts", import.meta.url)), { execArgv: [] });
  const send = async (job: LoadJob) => {
    client.send(job);
    const [result] = (await once(client, "message")) as [LoadResult];
    return result;
  };
  return {
    async run(port: number, requests: string[]): Promise<LoadResult> {
      await send({ port, connections: 16, seconds: 1, requests });
      return send({ port, connections: 16, seconds, requests });
    },
    stop: () => client.disconnect(),
  };
}

/** Asks the subgraph of a service; throws if it answers with errors. Returns the data and the length of the text. */
export async function askSubgraph<Data>(url: string, query: string, variables?: object) {
  const response = await fetch(`${url}/subgraph`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query, variables }),
  });
  const text = await response.text();
  if (text.includes('"errors"')) throw new Error(text);
  return { data: (JSON.parse(text) as { data: Data }).data, length: text.length };
}

/** The ten queries of clients over some names of the service at a port, each with the requests that send it. */
export async function subgraphRequests(port: number, collector: Hex) {
  const known =
    '{ domains(first: 1000, where: { name_starts_with: "name1", labelName_not: null }) { id name owner { id } } }';
  const { domains } = (await askSubgraph<{ domains: KnownName[] }>(`http://127.0.0.1:${port}`, known)).data;
  return clientQueries(domains, collector).map((one) => ({
    ...one,
    requests: one.variables.map((variables) =>
      requestOf("POST", "/subgraph", JSON.stringify({ query: one.query, variables })),
    ),
  }));
}

/** Requests a second and milliseconds, for a column. */
export const shownLoad = ({ perSecond, p50, p95, p99 }: LoadResult) =>
  `${Math.round(perSecond).toLocaleString("en-US").padStart(7)}/s ${[p50, p95, p99].map((ms) => ms.toFixed(1)).join(" / ")}`;
