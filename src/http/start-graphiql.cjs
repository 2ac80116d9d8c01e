// GraphiQL for the endpoint and with the queries that its element names. Its editors run in workers, which stand beside this script.

const root = document.querySelector("#root");
const folder = new URL(".", document.currentScript.src);
globalThis.MonacoEnvironment = { getWorkerUrl: (_, label) => new URL(`${label}.js`, folder).href };
globalThis.YogaGraphiQL.renderYogaGraphiQL(root, JSON.parse(root.dataset.options));
