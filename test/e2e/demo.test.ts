import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { namehash } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort, isPortFree } from "../../devnet/ports.ts";
import { chainIds, v2ChainId } from "../../devnet/recorded-chains.ts";
import { type ServiceProcess, startServiceProcess } from "../../devnet/service-process.ts";
import { WaitError, waitFor } from "../../devnet/wait.ts";
import { chromiumPath, startBrowser } from "../support/browser/browser.ts";
import { readTruth } from "../support/ensv2/recording.ts";
import { childrenOf } from "../support/process-tree.ts";
import { listedActions, readFixture, recordedActions, recordedEntities } from "../support/recordings.ts";

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

async function untilUp(service: ServiceProcess) {
  await waitFor(
    "the demo's screen",
    async () => {
      const lines = service.lastLines(100);
      if (service.ending() !== undefined) throw new WaitError(lines.join("\n"));
      if (lines.some((line) => line.includes("Ctrl-C stops everything"))) return { done: true };
      return { state: lines.at(-1) ?? "no output" };
    },
    { timeoutMs: 500_000 },
  );
}

const folders = () => readdirSync(temporary).filter((name) => name.startsWith("name-index-demo-"));

beforeAll(async () => {
  temporary = mkdtempSync(join(tmpdir(), "demo-test-"));
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
  for (const [place, command] of lines.entries()) {
    if (!command.startsWith("curl ")) continue;
    const { stdout } = await shell("sh", ["-c", command]);
    answers.set(lines[place - 1]!, stdout.startsWith("{") ? JSON.parse(stdout) : stdout);
  }
  return answers;
}

// Of both modes: the registrations of the recording and those of the last minute.
function expectCommon(answers: Map<string, unknown>, chains: readonly string[]) {
  expect(answers.get("How far the index is, chain by chain:")).toMatchObject({
    responseCode: "ok",
    realtimeProjection: {
      snapshot: {
        omnichainSnapshot: {
          omnichainStatus: "omnichain-following",
          chains: Object.fromEntries(chains.map((id) => [id, { chainStatus: "chain-following" }])),
        },
      },
    },
  });
  expect(answers.get("Whether it is in real time:")).toMatchObject({ maxWorstCaseDistance: 60 });
  const checksum = answers.get(
    "A hash of all rows, to compare with another operator; the first comes within ten minutes:",
  );
  expect(JSON.stringify(checksum)).toMatch(/"hash":"[0-9a-f]{64}"|There is no checksum yet/);
  expect(answers.get("Measurements:")).toMatch(/^nsindex_index_is_backfilled 1$/m);
  expect(answers.get(`The label behind a labelhash ("eth"):`)).toMatchObject({
    status: "success",
    label: "eth",
  });
}

function expectNewest(answer: unknown, names: RegExp) {
  const { data } = answer as { data: { registrations: { domain: { name: string }; expiryDate: string }[] } };
  expect(data.registrations.length).toBe(3);
  for (const { domain, expiryDate } of data.registrations) {
    expect(domain.name).toMatch(names);
    // Which are the newest depends on how many live blocks have come; some of the recorded ones are short.
    expect(expiryDate).toMatch(/^[1-9]\d*$/);
  }
}

describe("each command on the screen shows what is said", () => {
  const account = "0xe74cef90b6cf1a77fefad731713e6f53e575c183";
  test("all of them are tested", () => {
    expect(answers.size).toBe(26);
    expectCommon(answers, Object.values(chainIds));
    expect(answers.get("What is indexed:")).toMatchObject({
      indexedChainIds: Object.values(chainIds).map(Number),
      isSubgraphCompatible: false,
      plugins: [
        "subgraph",
        "basenames",
        "lineanames",
        "threedns",
        "protocol-acceleration",
        "registrars",
        "tokenscope",
      ],
    });
  });

  test("names on three chains", () => {
    expectNewest(
      answers.get("The newest registrations on three chains:"),
      /^[a-z0-9]+(\.base|\.linea)?\.eth$/,
    );
    const owned = ["demo.base.eth", "demo.eth", "demo.linea.eth"].map((name) => ({
      name,
      owner: { id: account },
    }));
    expect(answers.get("The names of an account on three chains:")).toMatchObject({
      data: { domains: owned },
    });
    const onBase = answers.get("The newest names on Base:") as { data: { domains: { name: string }[] } };
    expect(onBase.data.domains.map(({ name }) => name.endsWith(".base.eth"))).toEqual([true, true, true]);
  });

  test("registrar actions, those of the recordings among them", async () => {
    type Actions = {
      registrarActions: { action: { registrationLifecycle: { subregistry: { node: string } } } }[];
      pageContext: { totalRecords: number };
    };
    const all = answers.get("The newest registrations and renewals, with prices and referrers:") as Actions;
    const recorded = recordedActions();
    expect(all.registrarActions.length).toBe(3);
    expect(all.pageContext.totalRecords).toBeGreaterThan(recorded.length);
    const linea = answers.get("Those under linea.eth:") as Actions;
    for (const { action } of linea.registrarActions)
      expect(action.registrationLifecycle.subregistry.node).toBe(namehash("linea.eth"));
    const { timestamp } = recorded[0]!.action.block;
    const ofRecordings = await listedActions(
      `http://localhost:${ports.PORT}`,
      "",
      `&endTimestamp=${timestamp}`,
    );
    expect(ofRecordings.map(({ action }) => action.id)).toEqual(recorded.map(({ action }) => action.id));
  });

  test("tokens and sales", () => {
    const { nameTokens, nameSales } = readFixture("name-tokens.json.gz") as {
      nameTokens: { name: string; tokens?: string[][] }[];
      nameSales: { id: string; buyer: string; seller: string; amount: string }[];
    };
    const { tokens = [] } = nameTokens.find(({ name }) => name === "deldel.eth") ?? {};
    expect(answers.get("The tokens of a wrapped name:")).toMatchObject({
      registeredNameTokens: {
        name: "deldel.eth",
        tokens: tokens.map(([assetNamespace, chainId, address, tokenId, ownershipType, owner]) => ({
          token: { assetNamespace, contract: { chainId, address }, tokenId },
          ownership: { ownershipType, owner: { address: owner } },
        })),
      },
    });
    expect(tokens.length).toBe(2);
    const place = ({ id }: { id: string }) => Number(id.split("-")[1]) * 1e6 + Number(id.split("-")[2]);
    const newest = nameSales.toSorted((a, b) => place(b) - place(a)).slice(0, 3);
    expect(answers.get("The newest sales:")).toMatchObject({
      nameSales: newest.map(({ id, buyer, seller, amount }) => ({ id, buyer, seller, price: { amount } })),
      pageContext: { totalRecords: nameSales.length },
    });
  });

  test("records and primary names, from the index and from the chains", () => {
    const entities = recordedEntities();
    const domain = entities["Domain"]!.find(({ name }) => name === "kagam.eth")!;
    const texts = entities["TextChanged"]!.filter(({ resolver }) => resolver === domain["resolver"]);
    expect(texts.length).toBe(2);
    expect(answers.get("Records of a name, from the index:")).toMatchObject({
      records: {
        addresses: { "60": domain["resolvedAddress"] },
        texts: Object.fromEntries(texts.map(({ key, value }) => [key, value])),
      },
      accelerationRequested: true,
    });
    expect(answers.get("Records of a name on Base, by asking the chains:")).toEqual({
      records: {
        addresses: { "60": account },
        texts: { url: "https://example.org/demo", description: "One name on three chains" },
        contenthash: `0xe30101701220${"d3".repeat(32)}`,
      },
      accelerationRequested: false,
      accelerationAttempted: false,
    });
    expect(answers.get("The primary name of an account:")).toMatchObject({ name: "demo.eth" });
    expect(answers.get("Its primary names on three chains, from the index:")).toMatchObject({
      names: {
        [chainIds.root]: "demo.eth",
        [chainIds.base]: "demo.base.eth",
        [chainIds.linea]: "demo.linea.eth",
      },
    });
  });
});

describe("lookup", () => {
  const account = "0xe74cef90b6cf1a77fefad731713e6f53e575c183";
  const owned = [
    { name: "demo.base.eth", namespace: "basenames", owner: account },
    { name: "demo.eth", namespace: "ens", owner: account },
    { name: "demo.linea.eth", namespace: "lineanames", owner: account },
  ];
  const all = [...owned, { name: `${account.slice(2)}.addr.reverse`, namespace: "ens", owner: account }];
  test("of a name and an address, of names by role and by their beginning", () => {
    expect(answers.get("Who a name and an address are, of up to 1,000 in one request:")).toMatchObject({
      data: [
        { status: "ok", record: { name: "demo.eth", owner: account, primary_address: account } },
        { status: "ok", records: [{ name: "demo.eth", is_primary: true }, {}, {}, {}] },
      ],
    });
    expect(answers.get("The names of an account by role, on all chains:")).toMatchObject({ data: all });
    const found = answers.get("Names that begin with what someone types:") as { data: { name: string }[] };
    expect(found.data.map(({ name }) => name.slice(0, 3))).toEqual(found.data.map(() => "dem"));
    expect(found.data.map(({ name }) => name)).toEqual(expect.arrayContaining(owned.map(({ name }) => name)));
  });

  test("of a wrapped name and its history", () => {
    const { WrappedDomain = [], Domain = [], Registration = [] } = recordedEntities();
    const domain = Domain.find(({ name }) => name === "deldel.eth");
    const wrapped = WrappedDomain.find(({ domain: id }) => id === domain?.["id"]);
    const registration = Registration.find(({ domain: id }) => id === domain?.["id"]);
    expect(answers.get("A name: holder, manager, state of its wrapper, records:")).toMatchObject({
      data: {
        owner: wrapped?.["owner"],
        expires_at: String(registration?.["expiryDate"]),
        ens_v1: {
          wrapper_state: "emancipated",
          wrapper_fuses: { fuses: wrapped?.["fuses"] },
          wrapper_expires_at: String(wrapped?.["expiryDate"]),
        },
      },
    });
    const { data } = answers.get("What happened to it:") as { data: { type: string; timestamp: string }[] };
    expect(data.map(({ type }) => type)).toContain("registration");
    expect(new Set(data.map(({ timestamp }) => timestamp))).toEqual(
      new Set([String(registration?.["registrationDate"])]),
    );
  });

  test("of what expires next, in order, and of the chains", () => {
    const { data } = answers.get("The names that expire next:") as { data: { expires_at: string }[] };
    const times = data.map(({ expires_at }) => Number(expires_at));
    expect(times.length).toBe(3);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times[0]).toBeGreaterThan(Date.now() / 1_000 - 600);
    const calendar = String(answers.get("Its deadlines, for a calendar program:"));
    expect(calendar).toMatch(/^BEGIN:VCALENDAR\r\n/);
    for (const { name } of owned) expect(calendar).toContain(`SUMMARY:${name} expires`);
    const events = answers.get("The newest registrations and renewals as events:") as {
      data: { type: string; timestamp: string }[];
    };
    expect(events.data.map(({ type }) => /^(registration|renewal)$/.test(type))).toEqual([true, true, true]);
    expect(answers.get("How far each chain is behind:")).toMatchObject({
      data: { status: "ready", chains: { [chainIds.root]: { status: "ready" } } },
    });
  });
});

describe("examples", () => {
  const account = "0xe74cef90b6cf1a77fefad731713e6f53e575c183";

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
    const owned = ["demo.base.eth", "demo.eth", "demo.linea.eth"];
    expect(lines.slice(0, 3).map((line) => line.replace(/-.*/, ""))).toEqual(
      owned.map((name) => `${name} ${inAYear}`),
    );
    expect(lines[3]).toMatch(
      /^kagam.eth has texts (name, location|location, name) and addresses of coins 60$/,
    );
  });

  test("fetch with types of the OpenAPI document", async () => {
    const [first, ...lines] = (await example("registrar-actions")).trimEnd().split("\n");
    expect(Number(first!.replace(" actions, the newest:", ""))).toBeGreaterThan(recordedActions().length);
    expect(lines.length).toBe(5);
    for (const line of lines)
      expect(line).toMatch(
        /^(registration|renewal) [a-z0-9-]+(\.base|\.linea)?\.eth (\d+ ETH|free or unknown)$/,
      );
  });

  test("GraphQL code generation: the committed types are those of the index, and of the query's answer", async () => {
    const path = join(root, "examples/graphql/names.generated.ts");
    expect(await example("generate")).toBe(readFileSync(path, "utf8"));
    const lines = (await example("newest-names", ".linea.eth")).trimEnd().split("\n");
    expect(lines.length).toBe(5);
    for (const line of lines) expect(line).toMatch(/^\S+Z [a-z0-9]+\.linea\.eth owned by 0x[0-9a-f]{40}$/);
  });

  test("a React hook", async () => {
    const { TextChanged = [], Domain = [] } = recordedEntities();
    const resolver = Domain.find(({ name }) => name === "kagam.eth")?.["resolver"];
    const textOf = (key: string) =>
      TextChanged.find((event) => event["resolver"] === resolver && event["key"] === key)?.["value"];
    const page = await example("profile", "kagam.eth", "location", "name", "avatar");
    expect(page).toContain(
      `<h1>kagam.eth</h1><ul><li>location: ${textOf("location")}</li><li>name: ${textOf("name")}</li><li>avatar: not set</li></ul>`,
    );
  });

  test.skipIf(chromiumPath === undefined)("a wallet, in a browser", async () => {
    const browser = await startBrowser(chromiumPath ?? "");
    try {
      const url = pathToFileURL(join(root, "examples/wallet/index.html"));
      url.search = String(new URLSearchParams({ index: `http://localhost:${ports.PORT}`, address: account }));
      const { page, complaints } = await browser.open(url.href);
      const listed = (name: string) => page.getByRole("list", { name }).getByRole("button");
      await listed("Names of the address").first().waitFor();
      const owned = ["demo.base.eth", "demo.eth", "demo.linea.eth"];
      expect(await listed("Names of the address").allTextContents()).toEqual(owned);

      await page.getByLabel("Search").fill("dmeo");
      await listed("Names found").first().waitFor();
      expect((await listed("Names found").allTextContents()).sort()).toEqual(owned);
      await page.getByRole("list", { name: "Names found" }).getByText("demo.eth", { exact: true }).click();
      const heading = page.getByRole("heading", { level: 2 });
      await heading.waitFor();
      expect(await heading.textContent()).toBe("demo.eth");
      expect(await page.getByRole("definition").first().textContent()).toBe(account);
      expect(complaints).toEqual([]);

      await page.getByRole("textbox", { name: "Address" }).fill("0x12");
      await page.getByRole("textbox", { name: "Address" }).blur();
      await page.getByText("address must be a 0x-prefixed 20-byte hex string").waitFor();
    } finally {
      await browser.close();
    }
  });

  test("a monitor", async () => {
    expect((await example("monitor/monitor.sh")).match(/^ok /gm)?.length).toBe(5);
  });
});

test("the node returns what the index returns, for recorded names of three chains", async () => {
  const { Domain = [] } = recordedEntities();
  const { Domain: others = [] }: Record<string, { name: string }[]> = readFixture("l2-entities.json.gz");
  const plain = (name: unknown) => typeof name === "string" && /^[a-z]+(\.[a-z]+)+$/.test(name);
  const names = [...Domain.filter(({ resolver }) => resolver !== null), ...others]
    .map(({ name }) => name)
    .filter(plain);
  const sample = names.filter((_, place) => place % 8 === 0);
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

test("the index follows the live chain, in real time", async () => {
  const newest = async () => {
    const query =
      "{ _meta { block { number } } registrations(first: 1000, where: { labelName_not: null }) { id } }";
    const response = await fetch(`http://localhost:${ports.PORT}/subgraph`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query }),
    });
    const { data } = (await response.json()) as { data: { _meta: { block: { number: number } } } };
    return data._meta.block.number;
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

test("a second demo is rejected with the port and the variable to change", async () => {
  const second = startDemo();
  expect(await second.ended).toEqual({ code: 1, signal: undefined });
  expect(second.lastLines()).toEqual([
    `Port ${ports.PORT} is taken by another process. Free it, or choose another with PORT.`,
  ]);
});

test("so is a label service port in use", async () => {
  const other = createServer().listen(0);
  const port = (other.address() as { port: number }).port;
  const second = startDemo({ PORT: String(await freePort()), LABELS_PORT: String(port) });
  expect(await second.ended).toEqual({ code: 1, signal: undefined });
  expect(second.lastLines()).toEqual([
    `Port ${port} is taken by another process. Free it, or choose another with LABELS_PORT.`,
  ]);
  other.close();
});

test("an unknown option is rejected", async () => {
  const second = startDemo({}, ["--subgraphs"]);
  expect(await second.ended).toEqual({ code: 1, signal: undefined });
  expect(second.lastLines()).toEqual(["usage: npm run demo [-- --subgraph | --ensv2] [--all]"]);
});

test("an invalid port is rejected", async () => {
  const second = startDemo({ PORT: "http" });
  expect(await second.ended).toEqual({ code: 1, signal: undefined });
  expect(second.lastLines()).toEqual(['PORT must be a port between 1 and 65535, not "http".']);
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

test("the demo of subgraph mode shows what its screen says, until SIGTERM ends it", async () => {
  const subgraph = startDemo({}, ["--subgraph", "--all"]);
  await untilUp(subgraph);
  const answers = await answersOf(subgraph);
  expect(answers.size).toBe(9);
  expectCommon(answers, [chainIds.root]);
  expect(answers.get("What is indexed:")).toMatchObject({
    isSubgraphCompatible: true,
    plugins: ["subgraph"],
  });
  expectNewest(answers.get("The newest registrations:"), /^[^.]+\.eth$/);
  const { data } = answers.get("The newest names with text records, their owners and records:") as {
    data: { domains: { resolver: { texts: string[] } }[] };
  };
  expect(data.domains.map(({ resolver }) => resolver.texts.length > 0)).toEqual([true, true, true]);
  const { Domain, Resolver, Registration, ...events } = recordedEntities();
  const { id } = Domain!.find(({ name }) => name === "juriras.eth")!;
  const kinds = Object.entries(events).flatMap(([type, list]) =>
    list
      .filter((event) => event["domain"] === id && "transactionID" in event)
      .map(({ blockNumber }) => ({ __typename: type, blockNumber })),
  );
  const history = answers.get("The history of a name that was wrapped for a while:") as {
    data: { domains: { events: object[] }[] };
  };
  expect(history.data.domains[0]!.events.toSorted(byText)).toEqual(kinds.toSorted(byText));
  expect(kinds.length).toBe(7);
  expect(await subgraph.stop("SIGTERM")).toEqual({ code: 0, signal: undefined });
  await nothingLeft();
});

test("the demo of ENSv2 shows what its screen says", async () => {
  const ensv2 = startDemo({}, ["--ensv2", "--all"]);
  await untilUp(ensv2);
  const answers = await answersOf(ensv2);
  expect(answers.size).toBe(13);
  expectCommon(answers, [String(v2ChainId)]);
  // What calls said at the recording's last block.
  const truth = readTruth().at(-1)!;
  const ownerOf = (name: string) => truth.names.find((one) => one.name === name)!.owner;
  const name = "jadesaffron.eth";
  const owner = ownerOf(name);
  expect(answers.get("Who may do what with a name, and its owner, resolver and expiry:")).toMatchObject({
    name: { name, version: "v2", status: "registered", owner },
    permissions: expect.arrayContaining([expect.objectContaining({ account: owner })]),
  });
  expect(answers.get("What an account may do:")).toMatchObject({
    permissions: Array(3).fill({ account: owner }),
  });
  expect(answers.get("A name that is still in force in ENSv1:")).toMatchObject({
    name: { version: "v1", reserved: true },
  });
  const subname = "pay.jadesaffron.eth";
  expect(answers.get("A name in a registry that its parent's holder chose:")).toMatchObject({
    name: { name: subname, owner: ownerOf(subname) },
  });
  expect(answers.get("The token of a name:")).toMatchObject({ responseCode: "ok" });
  expect(answers.get("Records of a name, from the index:")).toMatchObject({
    records: { addresses: { 60: ownerOf("olive599.eth") }, texts: { description: "olive599.eth" } },
  });
  const registrations = answers.get("The newest registrations and renewals:") as { registrarActions: [] };
  expect(registrations.registrarActions.length).toBe(3);
  expect(await ensv2.stop()).toEqual({ code: 0, signal: undefined });
  await nothingLeft();
});

const byText = (a: object, b: object) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);

async function nothingLeft() {
  expect(folders()).toEqual([]);
  expect(await isPortFree(Number(ports.PORT))).toBe(true);
  expect(await isPortFree(Number(ports.LABELS_PORT))).toBe(true);
  expect(existsSync(temporary)).toBe(true);
}
