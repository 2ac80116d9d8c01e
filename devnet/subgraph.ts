/** Data that a subgraph endpoint has for a query. Throws if it answers with errors. */
export async function askSubgraph<Data>(endpoint: string, query: string, variables?: object): Promise<Data> {
  const response = await fetch(endpoint, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query, variables }),
    signal: AbortSignal.timeout(60_000),
  });
  const body = (await response.json()) as { data?: Data; errors?: { message: string }[] };
  if (body.errors === undefined && body.data !== undefined) return body.data;
  throw new Error(`The query failed: ${body.errors?.map(({ message }) => message).join("; ")}`);
}
