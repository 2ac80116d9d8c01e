import { expect, test } from "vitest";
import { namespaces } from "../datasources/datasources.ts";
import { indexedSubregistries } from "./subregistries.ts";

test("mainnet has registrars of eth, base.eth and linea.eth", () => {
  expect(indexedSubregistries(namespaces.mainnet)).toEqual([
    {
      subregistryId: "eip155:1:0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85",
      chainId: 1,
      node: "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae",
      namesPlugin: "subgraph",
    },
    {
      subregistryId: "eip155:8453:0x03c4738ee98ae44591e1a4a4f3cab6641d95dd9a",
      chainId: 8453,
      node: "0xff1e3c0eb00ec714e34b6114125fbde1dea2f24a72fbf672e7b7fd5690328e10",
      namesPlugin: "basenames",
    },
    {
      subregistryId: "eip155:59144:0x6e84390dcc5195414ec91a8c56a5c91021b95704",
      chainId: 59144,
      node: "0x527aac89ac1d1de5dd84cff89ec92c69b028ce9ce3fa3d654882474ab4402ec3",
      namesPlugin: "lineanames",
    },
  ]);
});

test("Sepolia's registrars manage its own names", () => {
  expect(indexedSubregistries(namespaces.sepolia).map(({ node }) => node)).toEqual([
    "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae",
    "0x646204f07e7fcd394a508306bf1148a1e13d14287fa33839bf9ad63755f547c6",
    "0x1944d8f922dbda424d5bb8181be5344d513cd0210312d2dcccd37d54c11a17de",
  ]);
});

test("the test network has the root chain's only", () => {
  expect(indexedSubregistries(namespaces["ens-test-env"]).map(({ namesPlugin }) => namesPlugin)).toEqual([
    "subgraph",
  ]);
});
