// Who imports whom, as rules of dependency-cruiser: `npm run lint`.

/**
 * A room, a folder or file of the project, the rooms further up that its files may import besides each other, so that no two rooms import
 * each other, and behind a bar its framework packages. Tests and their configuration are free, and so are `test` and `bench`, which nothing else may import.
 * The API only reads: it never imports handlers. Of `src` the label service, a separate process, may import labels, names, and the limits and
 * documents of HTTP only. Examples are programs of their own, which know the services by HTTP alone. `.` is the project's own folder.
 */
const table = `
abis <-
src/log <-
src/http <- | hono
src/ens <-
src/schema <- | ponder drizzle-orm
ponder.schema.ts <- src/schema
src/labels <- src/{log,ens}
src/deployments <- abis src/ens
src/config <- abis src/{log,ens,deployments,labels}
src/ponder <- src/{log,http,config} | ponder ponder:registry ponder:api drizzle-orm pg
src/rpc <- src/{log,ens,ponder}
src/operations <- src/{log,ens,schema,config,ponder,rpc}
src/archive <- src/{log,ens,config,ponder,rpc,operations}
src/indexing <- abis src/{ens,deployments,log,schema,labels,ponder} | ponder:registry drizzle-orm
src/handlers <- abis src/{ens,deployments,indexing} | ponder:registry
src/plugins <- abis src/{ens,deployments,indexing,handlers}
src/api/database <- ponder.schema.ts src/{log,http,ens,schema,config,ponder} | ponder
src/api/status <- src/{log,http,config,ponder,operations} src/api/database | ponder
src/api/rest <- src/{log,http,ens,ponder} src/api/{database,status} | hono
src/api/resolution <- abis src/{ens,deployments,rpc} src/api/{database,rest}
src/api/names <- abis src/{http,ens,schema,deployments,config} src/api/{database,status,rest,resolution}
src/api/feed <- src/{log,http,ponder,operations} src/api/{database,status,rest,names}
src/api/stats <- src/{log,ens,ponder,operations} src/api/{database,status,rest,names}
src/api/webhooks <- src/{log,config,ponder,rpc} src/api/{rest,names}
src/api/subgraph <- src/{http,ens,schema,config,ponder} src/api/{database,status,rest} | hono graphql
src/api/endpoints <- abis src/{http,ens,schema,deployments,labels,config,ponder,operations} src/api/{database,status,rest,resolution,names,feed,stats}
src/api/pages <- src/{log,http,ens,deployments,ponder} src/api/{database,status,rest,names,endpoints} | hono
src/api/metadata <- src/{log,ens,deployments,rpc} src/api/{database,rest,resolution,names,endpoints,pages} | hono
src/api/mcp <- src/http src/api/{rest,names,endpoints,pages} | hono @modelcontextprotocol/sdk
src/api <- src/{log,http,labels,deployments,config,ponder,operations} src/api/{database,status,rest,resolution,names,feed,stats,subgraph,webhooks,endpoints,pages,metadata,mcp} | hono ponder:api
src <- src/{log,labels,deployments,config,ponder,indexing,handlers,plugins}
labels-service/store <- src/{log,ens,labels}
labels-service/formats <- src/{log,ens,labels}
labels-service/ingest <- src/{log,ens,labels} labels-service/{store,formats}
labels-service/http <- src/{log,ens,labels,http} labels-service/store | hono
labels-service/commands <- src/{log,ens,labels} labels-service/{store,formats,ingest,http}
labels-service <- src/{log,ens,labels} labels-service/{store,formats,ingest,commands}
cli <- src/{log,ens,labels,deployments,config,ponder,operations,rpc,archive} src/api/{database,names,webhooks} | pg @modelcontextprotocol/sdk
. <- src/{schema,config,ponder,rpc,archive,operations} | ponder
devnet <- abis src/{deployments,rpc} labels-service/store
examples <- | graphql
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
    exclude: "(^|/)generated/",
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "types", "default"] },
  },
};
