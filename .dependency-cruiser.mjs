// Who imports whom, as rules of dependency-cruiser: `npm run lint`.

/**
 * A room, a folder or file of the project, the rooms further up that its files may import besides each other, so that no two rooms import
 * each other, and behind a bar its framework packages. Tests and their configuration are free, and so are `test` and `bench`, which nothing else may import.
 * What reads the tables (`src/read`) knows no HTTP, and `src/api` holds nothing else: neither imports handlers. Of `src` the label service,
 * a separate process, may import labels, names, the limits and documents of HTTP, and requests to public hosts only. Examples are programs of their own, which know
 * the services by HTTP alone. `.` is the project's own folder.
 */
const table = `
abis <-
src/log <-
src/http <- | hono
src/ens <- src/log | @ensdomains/address-encoder
src/schema <- | ponder drizzle-orm
ponder.schema.ts <- src/schema
src/labels <- src/{log,ens}
src/deployments <- abis src/ens
src/config <- abis src/{log,ens,deployments,labels}
src/ponder <- src/{log,http,config} | ponder ponder:registry ponder:api drizzle-orm pg
src/rpc/public-address.ts <-
src/rpc/retry-after.ts <-
src/rpc <- src/{log,ens,ponder}
src/operations <- ponder.schema.ts src/{log,ens,schema,config,ponder,rpc}
src/archive <- src/{log,ens,config,ponder,rpc,operations} src/rpc/retry-after.ts
src/indexing <- abis src/{ens,deployments,log,schema,labels,ponder} | ponder:registry drizzle-orm
src/handlers <- abis src/{ens,deployments,indexing} | ponder:registry
src/plugins <- abis src/{ens,deployments,indexing,handlers}
src/status/types.ts <- src/ponder
src/read/sql <- src/{http,config,ponder}
src/read <- src/{log,ens,http,ponder,operations} src/status/types.ts src/read/sql
src/read/names <- src/{ens,http,schema,deployments,ponder} src/status/types.ts src/read src/read/sql
src/read/events <- src/{ens,schema,config} src/read src/read/{sql,names}
src/read/roles <- src/{ens,schema} src/read src/read/{sql,names}
src/read/resolution <- abis src/{ens,rpc,deployments} src/read src/read/{sql,names}
src/read/stats <- src/{log,ens,schema,ponder,operations} src/read src/read/{sql,names,events}
src/status <- src/{log,ponder,operations} src/status/types.ts src/read/sql
src/feed/webhooks <- src/{log,ens,config,ponder,rpc} src/read/{names,events}
src/feed <- src/{log,ens,http,ponder,operations} src/read src/read/{sql,names,events} src/feed/webhooks
src/api/kit <- src/{log,ens,http,config,ponder} src/status src/status/types.ts src/read src/read/{sql,names} | hono
src/api/ensnode <- src/{ens,http,schema,deployments,ponder,operations} src/status src/status/types.ts src/read src/read/{sql,names,events,roles,resolution} src/api/kit
src/api/v1 <- src/{ens,http,schema,config,deployments,ponder} src/status src/status/types.ts src/read src/read/{sql,names,events,roles,resolution,stats} src/feed src/api/{kit,ensnode}
src/api/subgraph <- src/{http,ens,schema,config,ponder} src/read src/read/{sql,names} src/api/kit | hono graphql
src/api/pages <- src/{log,http,ens,deployments,ponder} src/status src/status/types.ts src/read src/read/{sql,names,events,resolution} src/api/{kit,ensnode,v1} | hono
src/api/metadata <- src/{log,http,ens,deployments,rpc} src/read/{sql,names,resolution} src/api/{kit,ensnode,v1} | hono
src/api/mcp <- src/{http,ens} src/read src/api/{kit,v1} | hono @modelcontextprotocol/sdk
src/service <- src/{log,http,labels,deployments,config,ponder,operations} src/status src/status/types.ts src/read src/read/{sql,names,events,resolution,stats} src/feed src/feed/webhooks src/api/{kit,ensnode,v1,subgraph,pages,metadata,mcp} | hono ponder:api
src/api <- src/service
src <- src/{log,labels,deployments,config,ponder,indexing,handlers,plugins}
labels-service/store <- src/{log,ens,labels}
labels-service/formats <- src/{log,ens,labels}
labels-service/ingest <- src/{log,ens,labels} labels-service/{store,formats}
labels-service/http <- src/{log,ens,labels,http} labels-service/store | hono
labels-service/commands <- src/{log,ens,labels} src/rpc/public-address.ts src/rpc/retry-after.ts labels-service/{store,formats,ingest,http}
labels-service <- src/{log,ens,labels} labels-service/{store,formats,ingest,commands}
cli <- src/{log,ens,labels,deployments,config,ponder,operations,rpc,archive} src/status src/read src/read/{sql,names,events} src/feed/webhooks | pg graphql @modelcontextprotocol/sdk
. <- src/{schema,config,ponder,rpc,archive,operations} | ponder
devnet <- abis src/{deployments,rpc} labels-service/store
client/src <-
client <- | graphql
examples <- client/src | graphql @modelcontextprotocol/sdk
deploy <-
`;

/** Packages that only the rooms naming them may import. All others are open to every room. */
const frameworks = [
  "ponder",
  "ponder:registry",
  "ponder:api",
  "hono",
  "drizzle-orm",
  "graphql",
  "pg",
  "@modelcontextprotocol/sdk",
  "@ensdomains/address-encoder",
];

// `src/{log,ens}` stands for two rooms.
const expanded = (words = "") =>
  words
    .trim()
    .split(" ")
    .flatMap((word) => {
      const [, prefix = "", names = word] = /^(.*)\{(.*)\}$/.exec(word) ?? [];
      return names.split(",").flatMap((name) => (name === "" ? [] : [prefix + name]));
    });

const rooms = table
  .trim()
  .split("\n")
  .map((line, index, lines) => {
    const [path = "", imports, packages] = line.split(/ <-|\|/);
    const isFurtherUp = (name) => lines.slice(0, index).some((other) => other.startsWith(`${name} <-`));
    return { path, imports: expanded(imports).filter(isFurtherUp), packages: expanded(packages) };
  });

/** Files of a room: of one that holds other rooms those that lie in its folder itself. */
const inside = (path) => {
  if (path === ".") return "^[^/]+$";
  return rooms.some((room) => room.path.startsWith(`${path}/`)) ? `^${path}/[^/]+$` : `^${path}(/|$)`;
};
const ofPackage = (name) => (name.includes(":") ? `^${name}$` : `^node_modules/${name}/`);
const isTest = "\\.test\\.ts$|^vitest\\.config\\.ts$";

const rulesOf = (room) => [
  {
    name: `${room.path} may import ${room.imports.join(", ") || "no other room"}`,
    severity: "error",
    from: { path: inside(room.path), pathNot: isTest },
    to: {
      ...{ path: "^[^:]+$", dependencyTypesNot: ["npm", "npm-dev", "npm-optional", "core"] },
      // Files of plugins may not import each other.
      pathNot: [
        ...room.imports.map(inside),
        ...(room.path === "src/plugins" ? [] : [inside(room.path)]),
        "^package\\.json$",
      ],
    },
  },
  {
    name: `${room.path} may import these frameworks: ${room.packages.join(", ") || "none"}`,
    severity: "error",
    from: { path: inside(room.path), pathNot: isTest },
    to: { path: frameworks.filter((name) => !room.packages.includes(name)).map(ofPackage) },
  },
];

export default {
  forbidden: [
    ...rooms.flatMap(rulesOf),
    {
      name: "no room holds this file",
      severity: "error",
      from: { pathNot: [isTest, "^(test|bench)/", ...rooms.map(({ path }) => inside(path))] },
      to: {},
    },
    {
      name: "imports a test",
      severity: "error",
      from: { pathNot: [isTest, "^(test|bench)/"] },
      to: { path: isTest },
    },
  ],
  options: {
    doNotFollow: "node_modules",
    // The client is a package of its own, whose tests and script use the root's development packages.
    combinedDependencies: true,
    exclude: "(^|/)generated/|^client/dist/",
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "types", "default"] },
  },
};
