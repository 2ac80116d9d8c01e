import { execFile } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { Webhook } from "standardwebhooks";
import { namehash } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient, type HistoryEntry } from "../../client/src/index.ts";
import { waitWhileRunning } from "../../devnet/indexing-service.ts";
import { freePort } from "../../devnet/ports.ts";
import { chainIds, v2ChainId } from "../../devnet/recorded-chains.ts";
import { type ServiceProcess, startServiceProcess } from "../../devnet/service-process.ts";
import { askSubgraph } from "../../devnet/subgraph.ts";
import { waitFor } from "../../devnet/wait.ts";
import { follow } from "../../examples/cache-purge/cache-purge.ts";
import { tally, toTypedData } from "../../examples/voting/voting.ts";
import { chromiumPath, startBrowser } from "../support/browser/browser.ts";
import { readTruth } from "../support/ensv2/recording.ts";
import { childrenOf } from "../support/process-tree.ts";
import { readFixture, recordedActions, recordedEntities } from "../support/recordings.ts";
import { inLongRuns } from "../support/rounds.ts";

const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL("../..", import.meta.url));
let temporary: string;
let ports: { PORT: string; LABELS_PORT: string };
let demo: ServiceProcess;
let answers: Map<string, unknown>;

function startDemo(environment: Record<string, string> = {}, options: string[] = []) {
  return startServiceProcess({
    name: "demo",
    args: [join(root, "devnet/start.ts"), ...options],
    cwd: root,
    env: {
      PATH: process.env["PATH"],
      HOME: process.env["HOME"],
      TMPDIR: temporary,
      ...ports,
      ...environment,
    },
  });
}

const untilUp = (service: ServiceProcess) =>
  waitWhileRunning([service], "the demo's screen", async () => {
    const lines = service.lastLines(100);
    const isUp = lines.some((line) => line.includes("Ctrl-C stops everything"));
    return isUp ? { done: true } : { state: lines.at(-1) ?? "no output" };
  });

const folders = () => readdirSync(temporary).filter((name) => name.startsWith("name-index-demo-"));

beforeAll(async () => {
  temporary = mkdtempSync(join(tmpdir(), "demo-test-"));
  // The private Postgres server of a test by root runs as another user.
  chmodSync(temporary, 0o711);
  ports = { PORT: String(await freePort()), LABELS_PORT: String(await freePort()) };
  demo = startDemo({}, ["--all"]);
  await untilUp(demo);
  answers = await answersOf(demo);
});
afterAll(async () => {
  await demo?.stop();
  rmSync(temporary, { recursive: true, force: true });
});

const shell = promisify(execFile);

/** What each command on the screen of a demo returns when it is run as it stands, by what it is said to show. */
async function answersOf(service: ServiceProcess): Promise<Map<string, unknown>> {
  const lines = service.lastLines(100).map((line) => line.trim());
  const answers = new Map<string, unknown>();
  for (const [index, command] of lines.entries()) {
    if (!/^(curl|tail) /.test(command)) continue;
    const isEndless = / (-sN|-n 5 -f) /.test(command);
    // Until the first registration or renewal, or half a minute.
    const ending = `timeout 30 ${command} | sed -u -E '/"type":|registration [a-z]/q'`;
    const { stdout } = await shell("sh", ["-c", isEndless ? ending : command]);
    // JSON is indented.
    const isJson = stdout.startsWith("{\n  ");
    answers.set(lines[index - 1]!, isJson ? JSON.parse(stdout) : stdout);
  }
  return answers;
}

/** Each of these commands returns at least what is expected. */
function expectShown(answers: Map<string, unknown>, expected: Record<string, unknown>) {
  for (const [what, value] of Object.entries(expected))
    expect({ [what]: answers.get(what) }).toMatchObject({ [what]: value });
}

const followed = { chainStatus: "chain-following" };
/** What the screens of all demos show. */
const common = (chains: readonly string[]) => ({
  "Indexing progress of each chain:": {
    responseCode: "ok",
    realtimeProjection: {
      snapshot: {
        omnichainSnapshot: {
          omnichainStatus: "omnichain-following",
          chains: Object.fromEntries(chains.map((id) => [id, followed])),
        },
      },
    },
  },
  "Whether it is in real time:": { maxWorstCaseDistance: 60 },
  "Measurements:": expect.stringMatching(/^nsindex_index_is_backfilled 1$/m),
  'The label behind a labelhash ("eth"):': { status: "success", label: "eth" },
});

// Which are the newest depends on how many live blocks have come; some of the recorded ones are short.
const newest = (names: RegExp) => ({
  data: {
    registrations: Array(3).fill({
      domain: { name: expect.stringMatching(names) },
      expiryDate: expect.stringMatching(/^[1-9]\d*$/),
    }),
  },
});

const account = "0xe74cef90b6cf1a77fefad731713e6f53e575c183";
const ownedNames = ["demo.base.eth", "demo.eth", "demo.linea.eth"];
const owned = ["basenames", "ens", "lineanames"].map((namespace, index) => ({
  ...{ name: ownedNames[index], namespace, owner: account },
}));
const primaries = Object.fromEntries(
  ["demo.eth", "demo.base.eth", "demo.linea.eth"].map((name, index) => [
    Object.values(chainIds)[index],
    name,
  ]),
);

const live = {
  "Each registration and renewal from now on:": expect.stringMatching(
    /^event: (heartbeat\n.*^event: )?event\nid: \S+\ndata: \{"id":"[0-9a-f]+","type":"(registration|renewal)"/ms,
  ),
  "What a webhook of registrations has received:": expect.stringMatching(
    /^(event: registration [a-z0-9]+(\.base|\.linea)?\.eth\n)+$/,
  ),
};

/**
 * What the screen of the whole demo shows, of the names that it adds; the tests beside each endpoint compare what it
 * says of others.
 */
const shownOfAll = {
  ...common(Object.values(chainIds)),
  ...live,
  "What is indexed:": {
    indexedChainIds: Object.values(chainIds).map(Number),
    isSubgraphCompatible: false,
    plugins: [
      ...["subgraph", "basenames", "lineanames", "threedns"],
      ...["protocol-acceleration", "registrars", "tokenscope"],
    ],
  },
  "The newest registrations on three chains:": newest(/^[a-z0-9]+(\.base|\.linea)?\.eth$/),
  "The names of an account on three chains:": {
    data: { domains: ownedNames.map((name) => ({ name, owner: { id: account } })) },
  },
  "Those under linea.eth:": {
    registrarActions: Array(3).fill({
      action: { registrationLifecycle: { subregistry: { node: namehash("linea.eth") } } },
    }),
  },
  "The tokens of a wrapped name:": { registeredNameTokens: { name: "deldel.eth", tokens: [{}, {}] } },
  "The newest sales:": { nameSales: [{}, {}, {}] },
  "Records of a name, from the index:": { accelerationRequested: true, records: { texts: {} } },
  "Records of a name on Base, by asking the chains:": {
    records: {
      addresses: { "60": account },
      texts: { url: "https://example.org/demo", description: "One name on three chains" },
      contenthash: `0xe30101701220${"d3".repeat(32)}`,
    },
    accelerationRequested: false,
    accelerationAttempted: false,
  },
  "The primary name of an account:": { name: "demo.eth" },
  "Its primary names on three chains, from the index:": { names: primaries },
  "Who a name and an address are, of up to 1,000 in one request:": {
    data: [
      { status: "ok", record: { name: "demo.eth", owner: account, primary_address: account } },
      { status: "ok", records: [{ name: "demo.eth", is_primary: true }, {}, {}, {}] },
    ],
  },
  "The names of an account by role, on all chains:": {
    data: [...owned, { name: `${account.slice(2)}.addr.reverse`, namespace: "ens", owner: account }],
  },
  "Names that begin with what someone types:": {
    data: expect.arrayContaining(ownedNames.map((name) => expect.objectContaining({ name }))),
  },
  "A name: holder, manager, state of its wrapper, records:": {
    data: { ens_v1: { wrapper_state: "emancipated" } },
  },
  "What happened to it:": {
    data: expect.arrayContaining([expect.objectContaining({ type: "registration" })]),
  },
  "The names that expire next:": { data: [{}, {}, {}] },
  "Its deadlines, for a calendar app:": expect.stringMatching(
    /^BEGIN:VCALENDAR\r\n.*SUMMARY:demo\.eth expires/s,
  ),
  "The newest registrations and renewals as events:": {
    data: Array(3).fill({ type: expect.stringMatching(/^(registration|renewal)$/) }),
  },
  "The lag of each chain:": {
    data: { status: "ready", chains: { [chainIds.root]: { status: "ready" } } },
  },
};

test("each command on the screen shows what is said", async () => {
  expect(answers.size).toBe(27);
  expectShown(answers, shownOfAll);
  const checksum = answers.get(
    "A hash of all rows, to compare with another operator; the first comes within ten minutes:",
  );
  expect(JSON.stringify(checksum)).toMatch(/"hash":"[0-9a-f]{64}"|There is no checksum yet/);
  type Actions = { registrarActions: object[]; pageContext: { totalRecords: number } };
  const all = answers.get("The newest registrations and renewals, with prices and referrers:") as Actions;
  expect(all.registrarActions.length).toBe(3);
  expect(all.pageContext.totalRecords).toBeGreaterThan(recordedActions().length);
});

/** Headers and body of a delivery with the newest renewal. */
async function signDelivery(secret: string) {
  const index = createClient({ url: `http://localhost:${ports.PORT}` });
  const { data } = await index.events({ type: "renewal", include: "data", page_size: 1 }).page();
  const body = JSON.stringify(data.map((entry) => ({ id: "1", event: "event", data: entry })));
  const at = new Date();
  const headers = {
    "webhook-id": "msg_1",
    "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
    "webhook-signature": new Webhook(secret).sign("msg_1", at, body),
  };
  return { method: "POST", headers, body };
}

describe("examples", () => {
  /** An example that goes on until it is stopped. */
  const start = (name: string, options: string[], environment: Record<string, string> = {}) =>
    startServiceProcess({
      name,
      args: [join(root, "examples/run.ts"), name, ...options],
      cwd: root,
      env: { PATH: process.env["PATH"], INDEX_URL: `http://localhost:${ports.PORT}`, ...environment },
    });

  const printed = (service: ServiceProcess, count: number) =>
    waitWhileRunning([service], `${count} lines`, async () => {
      const lines = service.lastLines(100);
      return lines.length >= count ? { done: lines } : { state: lines.at(-1) ?? "no output" };
    });

  async function example(program: string, ...options: string[]) {
    const env = {
      PATH: process.env["PATH"],
      INDEX_URL: `http://localhost:${ports.PORT}`,
      LABELS_URL: `http://localhost:${ports.LABELS_PORT}`,
    };
    const [command, flags] = program.endsWith(".sh")
      ? ["sh", [join(root, "examples", program)]]
      : [process.execPath, ["--disable-warning=ExperimentalWarning", join(root, "examples/run.ts"), program]];
    const { stdout } = await shell(command, [...flags, ...options], { env });
    return stdout;
  }

  test("viem and ensjs", async () => {
    const lines = (await example("names-of-account", account, "kagam.eth")).trimEnd().split("\n");
    const inAYear = String(new Date(Date.now() + 365 * 86_400_000).getUTCFullYear());
    expect(lines.slice(0, 3).map((line) => line.replace(/-.*/, ""))).toEqual(
      ownedNames.map((name) => `${name} ${inAYear}`),
    );
    expect(lines[3]).toMatch(
      /^kagam.eth has texts (name, location|location, name) and addresses of coins 60$/,
    );
  });

  test("GraphQL code generation: the committed types are those of the index, and of the query's answer", async () => {
    const path = join(root, "examples/graphql/names.generated.ts");
    expect(await example("generate")).toBe(readFileSync(path, "utf8"));
    const lines = (await example("newest-names", ".linea.eth")).trimEnd().split("\n");
    expect(lines.length).toBe(5);
    for (const line of lines) expect(line).toMatch(/^\S+Z [a-z0-9]+\.linea\.eth owned by 0x[0-9a-f]{40}$/);
  });

  test("a bot that warns of expiries, over a restart", async () => {
    const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
    const env = { WEBHOOK_SECRET: secret, STATE_FILE: join(temporary, "expiry-bot.json") };
    const port = String(await freePort());
    const deliver = async (by: string) =>
      (await fetch(`http://localhost:${port}`, await signDelivery(by))).status;
    const watch = (days: string) => {
      const options = ["--days", days, "--namespaces", "ens,lineanames", "--port", port];
      return start("expiry-bot", [...options, account, "agent.eth"], env);
    };
    const first = watch("400");
    const lines = await printed(first, 2);
    expect(lines.map((line) => line.replace(/: 20\S+Z$/, ""))).toEqual([
      `demo.eth of ${account} expires within 400 d`,
      `demo.linea.eth of ${account} expires within 400 d`,
    ]);
    expect(await deliver(secret)).toBe(204);
    expect(await deliver(`whsec_${Buffer.alloc(32, 2).toString("base64")}`)).toBe(400);
    await first.stop();
    const second = watch("800,400");
    // Names that were warned of are not printed again.
    expect(await printed(second, 1)).toEqual([
      expect.stringMatching(
        /^agent.eth of 0x70997970c51812dc3a010c7d01b50e0d17dc79c8 expires within 800 d: /,
      ),
    ]);
    await second.stop();
  });

  test("votes by name, which later registrations do not change", async () => {
    const lines = (await example("voting")).trimEnd().split("\n");
    expect(lines.map((line) => line.replace(/ of 0x\w+/, ""))).toEqual([
      "agent.eth: counted",
      "locked.eth: counted",
      "Agent.eth: the name has voted",
      "agent.eth: not held by the voter",
      "locked.eth: wrong signature",
      "demo.linea.eth: not a name of the vote",
      "Shall the demo go on? yes: 1, no: 1",
    ]);
    const index = createClient({ url: `http://localhost:${ports.PORT}` });
    const { data } = await index.events({ type: "registration", namespace: "ens", page_size: 1 }).page();
    const [{ name = "", timestamp }] = data as [HistoryEntry];
    const voter = privateKeyToAccount(`0x${"1".repeat(64)}`);
    const verdictAt = async (at: number) => {
      const proposal = { question: "?", choices: ["yes"], parent: "eth", at };
      const signature = await voter.signTypedData(toTypedData(proposal, { name, choice: 0 }));
      return (await tally(index, proposal, [{ voter: voter.address, name, choice: 0, signature }])).verdicts;
    };
    expect(await verdictAt(Number(timestamp))).toEqual(["not held by the voter"]);
    expect(await verdictAt(Number(timestamp) - 1)).toEqual(["not a name of the vote"]);
  });

  test("an agent", async () => {
    const [tools, held, address, ...others] = (await example("agent", account, "demo.eth"))
      .trimEnd()
      .split("\n");
    expect(tools).toContain("names_of_address");
    expect(held).toContain(`${account} holds "demo.base.eth", "demo.eth", "demo.linea.eth"`);
    expect(address).toBe(`"demo.eth" is ${account}`);
    expect(others).toEqual(
      expect.arrayContaining([
        '  "url": "https://example.org/demo"',
        '"agent.eth" of 0x70997970c51812dc3a010c7d01b50e0d17dc79c8, active, is an agent',
        '  "mcp" at "https://agent.example.org/mcp"',
      ]),
    );
  });

  test.skipIf(chromiumPath === undefined)("a wallet, in a browser", async () => {
    const port = String(await freePort());
    const wallet = start("wallet", [port]);
    const browser = await startBrowser(chromiumPath ?? "");
    try {
      expect((await printed(wallet, 1))[0]).toMatch(/^http:/);
      const query = new URLSearchParams({ index: `http://localhost:${ports.PORT}`, address: account });
      const { page, complaints } = await browser.open(`http://localhost:${port}/?${query}`);
      const listed = (name: string) => page.getByRole("list", { name }).getByRole("button");
      await listed("Names of the address").first().waitFor();
      expect(await listed("Names of the address").allTextContents()).toEqual(ownedNames);

      await page.getByLabel("Search").fill("dmeo");
      await listed("Names found").first().waitFor();
      expect((await listed("Names found").allTextContents()).sort()).toEqual(ownedNames);
      await page.getByRole("list", { name: "Names found" }).getByText("demo.eth", { exact: true }).click();
      const heading = page.getByRole("heading", { level: 2 });
      await heading.waitFor();
      expect(await heading.textContent()).toBe("demo.eth");
      expect(await page.getByRole("definition").first().textContent()).toBe(account);
      expect(complaints).toEqual([]);

      const newest = await fetch(
        `http://localhost:${ports.PORT}/v1/events?type=registration&namespace=ens&include=data&page_size=1`,
      );
      type Registration = { name: string; block_number: number; data: { registrant: string } };
      const { data } = (await newest.json()) as { data: [Registration] };
      const [{ name, block_number, data: registered }] = data;
      await page.getByRole("textbox", { name: "Address" }).fill(registered.registrant);
      await page.getByRole("textbox", { name: "Address" }).blur();
      const row = page.getByRole("list", { name: "Names of the address" }).getByText(name, { exact: true });
      await row.waitFor();
      // Once the page follows the stream, the chain goes back to before the registration.
      await waitFor("the stream of the page", async () => {
        const metrics = await (await fetch(`http://localhost:${ports.PORT}/metrics`)).text();
        return metrics.includes("\nnsindex_event_streams 1\n") ? { done: true } : { state: "no stream" };
      });
      const [node = ""] =
        /(?<=chain 15658733 is live at )\S+(?=,)/.exec(demo.lastLines(500).join("\n")) ?? [];
      await fetch(`${node}/control`, { method: "POST", body: JSON.stringify({ head: block_number - 1 }) });
      await row.waitFor({ state: "detached" });

      await page.getByRole("textbox", { name: "Address" }).fill("0x12");
      await page.getByRole("textbox", { name: "Address" }).blur();
      await page.getByText("address must be a 0x-prefixed 20-byte hex string").waitFor();
    } finally {
      await browser.close();
      await wallet.stop();
    }
  });

  test("a cache from which is dropped what changes", async () => {
    const stopped = new AbortController();
    const dropped: string[] = [];
    const cache = createServer(({ method, headers }, response) => {
      dropped.push(`${method} ${headers["x-keys"]}`);
      response.writeHead(200).end();
    }).listen(0, "127.0.0.1");
    await once(cache, "listening");
    const urls = {
      index: `http://localhost:${ports.PORT}`,
      cache: `http://127.0.0.1:${(cache.address() as AddressInfo).port}`,
    };
    const following = follow(urls, { signal: stopped.signal, log: () => undefined });
    // The demo's chain goes on.
    await waitFor("a name that changes", async () => {
      const isDropped = dropped.some((keys) => /^PURGE .*name:0x[0-9a-f]{64}/.test(keys));
      return isDropped ? { done: true } : { state: dropped.at(-1) ?? "nothing is dropped" };
    });
    stopped.abort();
    await following;
    cache.close();
    expect(dropped[0]).toBe("PURGE .");
  });

  test("a monitor", async () => {
    expect((await example("monitor/monitor.sh")).match(/^ok /gm)?.length).toBe(5);
  });
});

describe("samples of the client's README", () => {
  const text = readFileSync(join(root, "client/README.md"), "utf8");
  const sections = text
    .split(/^## /m)
    .map((section) => [
      section.split("\n", 1)[0],
      ...[...section.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code),
    ]);
  const samples = new Map(
    sections.filter(([, code]) => code).map(([title, ...code]) => [title, code.join("")]),
  );
  const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;

  /** What a sample prints when it is run on the demo, with code after it that calls what it exports. */
  async function run(title: string, code = "") {
    const sample = `${samples.get(title)}${code}`
      .replaceAll("http://localhost:42069", `http://localhost:${ports.PORT}`)
      .replace(/"@nsindex\/client(\/\w+)?"/g, (_, path = "/index") =>
        JSON.stringify(pathToFileURL(join(root, `client/src${path}.ts`)).href),
      )
      .replace('"graphql-request"', JSON.stringify(pathToFileURL(require.resolve("graphql-request")).href));
    const file = join(temporary, "sample.mts");
    writeFileSync(file, sample);
    const env = { PATH: process.env["PATH"], WEBHOOK_SECRET: secret };
    const { stdout } = await shell(process.execPath, ["--disable-warning=ExperimentalWarning", file], {
      env,
    });
    return stdout.trimEnd().split("\n");
  }

  test("names, lists and search", async () => {
    const [first, ...lines] = await run("In five minutes");
    expect(first).toMatch(new RegExp(`^${account} \\d{10} https://example.org/demo$`));
    for (const name of ownedNames)
      expect(lines).toEqual(expect.arrayContaining([`${name} active`, `${name} ${account}`]));
  });

  test("errors", async () =>
    expect(await run("Errors")).toEqual([
      "400 invalid_input page_size page_size must be an integer from 1 to 200",
    ]));

  test("answers after a transaction", async () => {
    const call = `
      const { as_of } = (await index.get<{ meta: Meta }>("/v1/names/demo.eth")).meta;
      const [[chainId, { block_number }]] = Object.entries(as_of);
      console.log((await afterReceipt({ chainId: Number(chainId), blockNumber: BigInt(block_number + 1) }))?.name);`;
    expect(await run("Never back in time", call)).toEqual(["demo.eth"]);
  });

  test("live events, from the last one on", async () => {
    const call = `
      for (let after: string | undefined, size = 0; size < 3; ) {
        const controller = new AbortController();
        const store = (id: string) => {
          after = id;
          if (entries.size > size) controller.abort();
        };
        await follow(after, store, controller.signal);
        size = entries.size;
      }
      for (const { type, name } of entries.values()) console.log(type, name);`;
    const lines = await run("Live events", call);
    expect(lines.length).toBe(3);
    expect(new Set(lines).size).toBe(3);
    for (const line of lines) expect(line).toMatch(/^registration [a-z0-9]+(\.base|\.linea)?\.eth$/);
  });

  test("webhooks", async () => {
    const deliveries = [await signDelivery(secret), await signDelivery(`whsec_${"A".repeat(32)}`)];
    const call = `
      for (const delivery of ${JSON.stringify(deliveries)}) {
        const response = await POST(new Request("http://localhost/", delivery));
        console.log(response.status, await response.text());
      }`;
    expect(await run("Webhooks", call)).toEqual(["msg_1 [ 'event' ]", "204 ", "400 No signature is valid"]);
  });

  test("GraphQL", async () => {
    const call = `console.log((await readDomains("${account}")).domains.map(({ name }) => name).join());`;
    expect((await run("GraphQL", call))[0]?.split(",")).toEqual(expect.arrayContaining(ownedNames));
  });

  test("there are no others", () =>
    expect([...samples.keys()]).toEqual([
      ...["In five minutes", "Errors", "Never back in time", "Live events", "Webhooks", "GraphQL"],
    ]));
});

test("the node returns what the index returns, for recorded names of three chains", async () => {
  const { Domain = [] } = recordedEntities();
  const { Domain: others = [] }: Record<string, { name: string }[]> = readFixture("l2-entities.json.gz");
  const plain = (name: unknown) => typeof name === "string" && /^[a-z]+(\.[a-z]+)+$/.test(name);
  const names = [...Domain.filter(({ resolver }) => resolver !== null), ...others]
    .map(({ name }) => name)
    .filter(plain);
  const sample = names.filter((_, index) => index % 8 === 0);
  expect(sample.length).toBeGreaterThan(60);
  const ask = async (name: unknown, accelerate: boolean) => {
    const query = `addresses=60,0&texts=avatar,url,description&contenthash=true&pubkey=true&accelerate=${accelerate}`;
    const response = await fetch(`http://localhost:${ports.PORT}/api/resolve/records/${name}?${query}`);
    const { records } = (await response.json()) as { records: unknown };
    return [name, response.status, records];
  };
  for (const name of sample) expect(await ask(name, false)).toEqual(await ask(name, true));
});

test.each([
  ["Status", "/", "<title>"],
  ["GraphiQL", "/subgraph", "<title>Subgraph</title>"],
  ["Docs", "/docs", "swagger-ui"],
])("the screen's address of %s is a page for browsers", async (what, path, text) => {
  const url = `http://localhost:${ports.PORT}${path}`;
  expect(demo.lastLines(100).map((line) => line.trim().split(/\s+/))).toContainEqual([what, url]);
  const response = await fetch(url, { headers: { accept: "text/html" } });
  expect(response.headers.get("content-type")).toContain("text/html");
  expect(await response.text()).toContain(text);
});

// The picture of the demo; who refers; fuses and dates of the name wrapper; the 21 days of ENS's premium; texts of
// ENSIP-25 and ENSIP-26.
test.each([
  ["Avatar", "/ens-test-env/avatar/demo.eth", "<circle"],
  [
    "Referrers",
    "/v1/referrers",
    '"referrer":"0x70997970c51812dc3a010c7d01b50e0d17dc79c8","referral_count":2,',
  ],
  ["Wrapped", "/name/locked.eth", "It cannot be transferred."],
  ["Wrapped", "/name/locked.eth", "https://example.org/locked"],
  ["Premium", "/name/auction.eth", "at a premium that falls to zero in 10 d"],
  ["Agent", "/name/agent.eth", "Agent context"],
  ["Agent", "/name/agent.eth", "Agent endpoint mcp"],
  ["Agent", "/name/agent.eth", "Agent registration 167"],
  // Its account that consents (ENSIP-28).
  ["Agent", "/name/agent.eth", "0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc"],
])("the screen's link of %s, %s, shows %s", async (what, path, text) => {
  const url = `http://localhost:${ports.PORT}${path}`;
  expect(demo.lastLines(100).map((line) => line.trim().split(/\s+/))).toContainEqual([what, url]);
  const response = await fetch(url);
  expect(response.status).toBe(200);
  expect(await response.text()).toContain(text);
});

test("the index follows the live chain, in real time", async () => {
  const newest = async () => {
    const query =
      "{ _meta { block { number } } registrations(first: 1000, where: { labelName_not: null }) { id } }";
    const { _meta } = await askSubgraph<{ _meta: { block: { number: number } } }>(
      `http://localhost:${ports.PORT}/subgraph`,
      query,
    );
    return _meta.block.number;
  };
  const before = await newest();
  await waitFor("three more blocks", async () => {
    const now = await newest();
    return now >= before + 3 ? { done: now } : { state: `block ${now}` };
  });
  // On a slow machine the index still catches up with the blocks of its start.
  await waitFor("the index to be in real time", async () => {
    const response = await fetch(`http://localhost:${ports.PORT}/amirealtime?maxWorstCaseDistance=30`);
    return response.status === 200 ? { done: undefined } : { state: await response.text() };
  });
});

test("a demo whose ports are in use or no ports, or with unknown options, is rejected with what to change", async () => {
  const other = createServer().listen(0);
  const { port } = other.address() as { port: number };
  const free = String(await freePort());
  const taken = (one: unknown, variable: string) =>
    `Port ${one} is taken by another process. Free it, or choose another with ${variable}.`;
  const refusals: [Record<string, string>, string[], string][] = [
    [{}, [], taken(ports.PORT, "PORT")],
    [{ PORT: free, LABELS_PORT: String(port) }, [], taken(port, "LABELS_PORT")],
    [{}, ["--subgraphs"], "usage: npm run demo [-- --subgraph | --ensv2] [--all]"],
    [{ PORT: "http" }, [], 'PORT must be a port between 1 and 65535, not "http".'],
  ];
  for (const [environment, options, message] of refusals) {
    const refused = startDemo(environment, options);
    expect(await refused.ended).toEqual({ code: 1, signal: undefined });
    expect(refused.lastLines()).toEqual([message]);
  }
  other.close();
});

test("when the label service dies, the demo reports it, ends and leaves nothing behind", async () => {
  expect(folders().length).toBe(1);
  const [labelService] = await childrenOf(demo.pid);
  process.kill(labelService!, "SIGKILL");
  expect(await demo.ended).toEqual({ code: 1, signal: undefined });
  expect(demo.lastLines(30).join("\n")).toContain("The label service ended (SIGKILL). Its last lines:");
  await nothingLeft();
});

test("SIGINT ends the demo at any time and leaves nothing behind", async () => {
  const early = startDemo();
  await waitFor("the services to start", async () => {
    const line = early.lastLines().find((text) => text.includes("label service is up"));
    return line === undefined ? { state: early.lastLines().join(" ") } : { done: line };
  });
  expect(await early.stop("SIGINT")).toEqual({ code: 0, signal: undefined });
  await nothingLeft();
});

async function expectSubgraphDemo() {
  const subgraph = startDemo({}, ["--subgraph", "--all"]);
  await untilUp(subgraph);
  const answers = await answersOf(subgraph);
  expect(answers.size).toBe(12);
  expectShown(answers, {
    "A name of an agent, one in its premium auction, and a wrapped one with burned fuses:": {
      data: {
        domains: [
          {
            name: "agent.eth",
            wrappedDomain: null,
            resolver: { texts: expect.arrayContaining(["agent-context"]) },
          },
          { name: "auction.eth", wrappedDomain: null },
          // PARENT_CANNOT_CONTROL, IS_DOT_ETH, CANNOT_TRANSFER and CANNOT_UNWRAP.
          { name: "locked.eth", wrappedDomain: { fuses: 65_536 | 131_072 | 4 | 1 } },
        ],
      },
    },
    ...common([chainIds.root]),
    ...live,
    "What is indexed:": { isSubgraphCompatible: true, plugins: ["subgraph"] },
    "The newest registrations:": newest(/^[^.]+\.eth$/),
    "The newest names with text records, their owners and records:": {
      data: { domains: Array(3).fill({ resolver: { texts: expect.arrayContaining([expect.any(String)]) } }) },
    },
    "The history of a name that was wrapped for a while:": {
      data: { domains: [{ events: Array(7).fill({ blockNumber: expect.any(Number) }) }] },
    },
  });
  expect(await subgraph.stop("SIGTERM")).toEqual({ code: 0, signal: undefined });
  await nothingLeft();
}

async function expectEnsv2Demo() {
  const ensv2 = startDemo({}, ["--ensv2", "--all"]);
  await untilUp(ensv2);
  const wrapped = await fetch(`http://localhost:${ports.PORT}/name/wave449.eth`);
  expect(await wrapped.text()).toContain("It cannot be unwrapped.");
  const answers = await answersOf(ensv2);
  expect(answers.size).toBe(13);
  // What calls said at the recording's last block.
  const truth = readTruth().at(-1)!;
  const ownerOf = (name: string) => truth.names.find((one) => one.name === name)!.owner;
  const [name, subname] = ["jadesaffron.eth", "pay.jadesaffron.eth"];
  const owner = ownerOf(name);
  expectShown(answers, {
    ...common([String(v2ChainId)]),
    "Who may do what with a name, and its owner, resolver and expiry:": {
      name: { name, version: "v2", status: "registered", owner },
      permissions: expect.arrayContaining([expect.objectContaining({ account: owner })]),
    },
    "What an account may do:": { permissions: Array(3).fill({ account: owner }) },
    "A name that is still in force in ENSv1:": { name: { version: "v1", reserved: true } },
    "A name in a registry that its parent's holder chose:": {
      name: { name: subname, owner: ownerOf(subname) },
    },
    "The token of a name:": { responseCode: "ok" },
    "Records of a name, from the index:": {
      records: { addresses: { 60: ownerOf("olive599.eth") }, texts: { description: "olive599.eth" } },
    },
    "The newest registrations and renewals:": { registrarActions: [{}, {}, {}] },
  });
  expect(await ensv2.stop()).toEqual({ code: 0, signal: undefined });
  await nothingLeft();
}

const otherDemos: [string, () => Promise<void>][] = [
  ["subgraph mode", expectSubgraphDemo],
  ["ENSv2", expectEnsv2Demo],
];
test.each(inLongRuns(otherDemos))("the demo of %s shows what its screen says", (_, expectDemo) =>
  expectDemo(),
);

async function nothingLeft() {
  expect(folders()).toEqual([]);
  await freePort(Number(ports.PORT));
  await freePort(Number(ports.LABELS_PORT));
  expect(existsSync(temporary)).toBe(true);
}
