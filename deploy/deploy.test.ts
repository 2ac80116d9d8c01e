import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { validate } from "dockerfile-utils";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod/v4";

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
  (expr.match(/\b(names|labels|ponder|process|nodejs)_[a-z0-9_]+/g) ?? []).map((name) =>
    name.replace(/_(bucket|count|sum)$/, ""),
  );

const documented = new Set(operations.match(/`(names|labels|ponder|process|nodejs)_[a-z0-9_]+`/g));
const undocumented = (expr: string) => metricsOf(expr).filter((name) => !documented.has(`\`${name}\``));

describe("alerts", () => {
  test.each(rules.map((rule) => [rule.alert, rule] as const))(
    "%s is documented",
    (alert, { expr, annotations }) => {
      expect(operations).toContain(`\`${alert}\``);
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
      command: z.array(z.string()).optional(),
      environment: z.record(z.string(), z.string()).default({}),
      ports: z.array(z.string()).default([]),
      profiles: z.array(z.string()).default([]),
      volumes: z.array(z.string()).default([]),
    }),
  ),
  volumes: z.record(z.string(), z.null()),
});

/** A variable of .env with a default, as compose reads it. */
const variable = (name: string, otherwise: string) => `\${${name}:-${otherwise}}`;

describe("containers", () => {
  const compose = composeFile.parse(parse(read("compose.yaml"), { merge: true }));

  test("compose mounts what there is and runs what there is", () => {
    for (const { image, command, volumes } of Object.values(compose.services)) {
      for (const volume of volumes) {
        const [source = ""] = volume.split(":");
        expect(
          source.startsWith(".") || source === "/" ? existsSync(source) : source in compose.volumes,
        ).toBe(true);
      }
      if (image.startsWith("nsindex")) expect(existsSync(command?.[0] ?? "")).toBe(true);
      // A tag that moves would change a running system.
      else expect(image).toMatch(/:v?\d/);
    }
  });

  test("containers listen on addresses that published ports reach, whatever .env.local says", () => {
    const scripts = Object.values(compose.services).filter(
      ({ command }) => command?.[0] === "scripts/ponder.ts",
    );
    expect(scripts).toHaveLength(4);
    // An empty variable counts as unset: all addresses.
    for (const { environment } of scripts) expect(environment).toMatchObject({ API_HOST: "", PORT: "42069" });
  });

  test("a second indexer builds the next index for the readers of the same stable name, when asked for", () => {
    const { indexer, "indexer-next": next, "reader-1": reader } = compose.services;
    expect([indexer?.profiles, next?.profiles]).toEqual([[], ["upgrade"]]);
    const { DATABASE_SCHEMA: schema, ...others } = indexer?.environment ?? {};
    expect(schema).toBe(variable("DATABASE_SCHEMA", "names_v1"));
    expect(next?.environment).toEqual({ ...others, DATABASE_SCHEMA: variable("NEXT_SCHEMA", "names_v2") });
    expect(reader?.environment).toEqual(indexer?.environment);
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
