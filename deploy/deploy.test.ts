import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { validate } from "dockerfile-utils";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod/v4";
import { startPostgres } from "../test/support/postgres.ts";

const read = (path: string) => readFileSync(path, "utf8");
const operations = read("docs/operations.md");

const ruleFile = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          alert: z.string(),
          expr: z.string(),
          labels: z.object({ severity: z.enum(["critical", "warning", "info"]) }),
          annotations: z.object({ summary: z.string(), description: z.string() }),
        }),
      ),
    }),
  ),
});
const rules = ruleFile
  .parse(parse(read("deploy/prometheus/rules.yaml")))
  .groups.flatMap(({ rules }) => rules);

const boardFile = z.object({
  panels: z.array(
    z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })).default([]) }),
  ),
});
const panels = boardFile.parse(JSON.parse(read("deploy/grafana/dashboards/nsindex.json"))).panels;

/** The metrics of an expression; those of a histogram by its name. */
const metricsOf = (expr: string) =>
  (expr.match(/\b(nsindex|labels|ponder|process|nodejs)_[a-z0-9_]+/g) ?? []).map((name) =>
    name.replace(/_(bucket|count|sum)$/, ""),
  );

const documented = new Set(operations.match(/`(nsindex|labels|ponder|process|nodejs)_[a-z0-9_]+`/g));
const undocumented = (expr: string) => metricsOf(expr).filter((name) => !documented.has(`\`${name}\``));

describe("alerts", () => {
  test.each(rules.map((rule) => [rule.alert, rule] as const))(
    "%s is documented",
    (alert, { expr, annotations }) => {
      expect(read("docs/runbook.md")).toContain(`\`${alert}\``);
      expect(undocumented(expr)).toEqual([]);
      const [, file = "", anchor] = /(docs\/[a-z-]+\.md)(?:#([a-z-]+))?/.exec(annotations.description) ?? [];
      const headings = read(file).match(/^#+ .*/gm) ?? [];
      const anchors = headings.map((heading) =>
        heading.replace(/^#+ /, "").toLowerCase().replaceAll(" ", "-"),
      );
      if (anchor !== undefined) expect(anchors).toContain(anchor);
    },
  );

  const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;
  test.runIf(hasPromtool)("fire when they should (promtool)", () => {
    const { status, stdout, stderr } = spawnSync("promtool", ["test", "rules", "rules.test.yaml"], {
      cwd: "deploy/prometheus",
      encoding: "utf8",
    });
    expect([stdout + stderr, status]).toEqual([expect.stringContaining("SUCCESS"), 0]);
  });

  test("are all tested", () => {
    const tested = new Set(read("deploy/prometheus/rules.test.yaml").match(/alertname: \w+/g));
    expect(rules.map(({ alert }) => alert).filter((alert) => !tested.has(`alertname: ${alert}`))).toEqual([]);
  });
});

test("the board shows documented metrics only", () => {
  const queried = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  expect(queried.length).toBeGreaterThan(20);
  expect(queried.flatMap(undocumented)).toEqual([]);
});

const composeFile = z.object({
  services: z.record(
    z.string(),
    z.object({
      image: z.string(),
      entrypoint: z.array(z.string()).optional(),
      command: z.array(z.string()).optional(),
      environment: z.record(z.string(), z.string()).default({}),
      ports: z.array(z.string()).default([]),
      profiles: z.array(z.string()).default([]),
      volumes: z.array(z.string()).default([]),
      read_only: z.literal(true),
      cap_drop: z.tuple([z.literal("ALL")]),
      cap_add: z.array(z.string()).optional(),
      security_opt: z.tuple([z.literal("no-new-privileges:true")]),
    }),
  ),
  volumes: z.record(z.string(), z.null()),
});

/** A variable of .env with a default, as compose reads it. */
const variable = (name: string, otherwise: string) => `\${${name}:-${otherwise}}`;

describe("containers", () => {
  const compose = composeFile.parse(parse(read("compose.yaml"), { merge: true }));

  test("compose mounts what there is and runs what there is", () => {
    for (const { image, entrypoint, command, volumes } of Object.values(compose.services)) {
      for (const volume of volumes) {
        const [source = ""] = volume.split(":");
        expect(source.startsWith(".") ? existsSync(source) : source in compose.volumes).toBe(true);
      }
      if (image.startsWith("nsindex"))
        expect(existsSync(entrypoint?.at(-1) ?? command?.[0] ?? "")).toBe(true);
      // A tag that moves would change a running system.
      else expect(image).toMatch(/:v?\d/);
    }
  });

  test("containers are confined, and Postgres alone begins with what it needs to become its user", () => {
    const capable = Object.entries(compose.services).filter(([, { cap_add }]) => cap_add !== undefined);
    expect(capable.map(([name]) => name)).toEqual(["postgres"]);
  });

  test("containers listen on addresses that published ports reach, whatever .env.local says", () => {
    const scripts = Object.values(compose.services).filter(({ command }) => command?.[0] === "cli/ponder.ts");
    expect(scripts).toHaveLength(4);
    // An empty variable counts as unset: all addresses.
    for (const { environment } of scripts) expect(environment).toMatchObject({ API_HOST: "", PORT: "42069" });
  });

  test("a second indexer builds the next index for the readers of the same views schema, when asked for", () => {
    const { indexer, "indexer-next": next, "reader-1": reader } = compose.services;
    expect([indexer?.profiles, next?.profiles]).toEqual([[], ["upgrade"]]);
    const { DATABASE_SCHEMA: schema, ...others } = indexer?.environment ?? {};
    expect(schema).toBe(variable("DATABASE_SCHEMA", "names_v1"));
    expect(next?.environment).toEqual({ ...others, DATABASE_SCHEMA: variable("NEXT_SCHEMA", "names_v2") });
    expect({ ...reader?.environment, DATABASE_URL: "" }).toEqual({
      ...indexer?.environment,
      DATABASE_URL: "",
    });
    expect(others).toMatchObject({
      DATABASE_STABLE_SCHEMA: variable("DATABASE_STABLE_SCHEMA", "names"),
      SWITCH_WHEN_READY: "true",
    });
    // A new image must not replace that of the running services before its index is ready.
    expect(next?.image).not.toBe(indexer?.image);
    const ports = Object.values(compose.services).flatMap((service) =>
      service.ports.map((port) => port.replace(/:\d+$/, "")),
    );
    expect(new Set(ports).size).toBe(ports.length);
  });

  test("each password has to be set, and each service logs in with that of its own role", () => {
    const text = read("compose.yaml");
    const passwords = text.match(/\$\{[A-Z]+_PASSWORD[^}]*\}/g) ?? [];
    expect(passwords.filter((one) => !one.endsWith(":?set it in .env}"))).toEqual([]);
    const documented = /for role in ([A-Z ]+);/.exec(operations)?.[1]?.split(" ");
    expect(documented).toEqual(["POSTGRES", "INDEXER", "READER", "EXPORTER", "GRAFANA"]);
    expect(new Set(passwords.map((one) => /[A-Z]+/.exec(one)?.[0]))).toEqual(new Set(documented));
    const roleOf = (service: string) =>
      /^postgresql:\/\/([a-z]+):\$\{([A-Z]+)_/
        .exec(compose.services[service]?.environment["DATABASE_URL"] ?? "")
        ?.slice(1);
    expect(["indexer", "indexer-next", "reader-1", "reader-2", "export"].map(roleOf)).toEqual([
      ["indexer", "INDEXER"],
      ["indexer", "INDEXER"],
      ["reader", "READER"],
      ["reader", "READER"],
      ["exporter", "EXPORTER"],
    ]);
  });

  const hasClient = spawnSync("psql", ["--version"]).status === 0;
  test.runIf(hasClient)("the roles: an indexer owns the database, readers read what it creates", async () => {
    const server = await startPostgres(["fsync=off", "max_connections=20"]);
    const databaseOf = (role: string) =>
      server.url.replace("//postgres@", `//${role}@`).replace(/postgres$/, "names");
    const run = async (role: string, text: string) => {
      const client = new pg.Client(databaseOf(role));
      await client.connect();
      return client
        .query(text)
        .then(
          ({ rows }) => rows as unknown,
          (error: Error) => error.message,
        )
        .finally(() => client.end());
    };
    const env = {
      PATH: process.env["PATH"],
      INDEXER_PASSWORD: "i'",
      READER_PASSWORD: "r",
      EXPORTER_PASSWORD: "e",
    };
    const psql = (url: string, ...args: string[]) =>
      spawnSync("psql", ["-X", "-q", ...args, url], { env, encoding: "utf8" });
    try {
      expect(psql(server.url, "-c", "CREATE DATABASE names").stderr).toBe("");
      expect(psql(databaseOf("postgres"), "-f", "deploy/postgres/roles.sql").stderr).toBe("");

      const made = `CREATE SCHEMA names_v1; CREATE TABLE names_v1.domains AS SELECT 1 AS id;
        CREATE SCHEMA names; CREATE VIEW names.domains AS SELECT id FROM names_v1.domains;
        CREATE EXTENSION pg_trgm WITH SCHEMA public; CREATE EXTENSION btree_gin WITH SCHEMA public`;
      expect(await run("indexer", made)).toBeUndefined();
      for (const role of ["reader", "exporter"]) {
        for (const schema of ["names", "names_v1"])
          expect(await run(role, `SELECT id FROM ${schema}.domains`)).toEqual([{ id: 1 }]);
        const writes = [
          "DELETE FROM names_v1.domains",
          "CREATE SCHEMA own",
          "CREATE TABLE names.own (id int)",
          "CREATE TABLE public.own (id int)",
          "CREATE TEMP TABLE own (id int)",
          "SELECT * FROM pg_authid",
          "COPY (SELECT 1) TO PROGRAM 'true'",
        ];
        for (const write of writes)
          expect(await run(role, `BEGIN READ WRITE; ${write}`)).toMatch(
            /^(permission denied|must be superuser|cannot create temporary)/,
          );
        expect(await run(role, "DELETE FROM names_v1.domains")).toContain("read-only transaction");
      }
      expect(await run("indexer", "SELECT * FROM pg_authid")).toContain("permission denied");
    } finally {
      await server.stop();
    }
  });

  test("Prometheus asks services of compose", () => {
    const targets = read("deploy/prometheus/prometheus.yaml").match(/[a-z0-9-]+:\d{4,5}/g) ?? [];
    expect(targets.length).toBeGreaterThan(4);
    for (const target of targets) expect(Object.keys(compose.services)).toContain(target.split(":")[0]);
  });

  test("the Dockerfile is valid and copies what there is", () => {
    const text = read("Dockerfile");
    expect(validate(text)).toEqual([]);
    const ignored = read(".dockerignore");
    for (const [, list = ""] of text.matchAll(/^COPY (?!--)(.+) \S+$/gm))
      for (const path of list.split(" ")) {
        expect(existsSync(path)).toBe(true);
        expect(ignored).toContain(`!${path}\n`);
      }
  });
});

test.each(["nsindex", "nsindex-labels", "nsindex-reader@"])(
  "the unit %s has nothing of the system that it does not need",
  (unit) => {
    const lines = read(`deploy/systemd/${unit}.service`).split("\n");
    expect(lines).toEqual(
      expect.arrayContaining([
        ...["NoNewPrivileges=true", "ProtectSystem=strict", "PrivateDevices=true", "CapabilityBoundingSet="],
        ...[
          "SystemCallFilter=@system-service",
          "RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_UNIX",
        ],
      ]),
    );
  },
);
