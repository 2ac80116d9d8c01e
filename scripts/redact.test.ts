import { expect, test } from "vitest";
import { redact, secretsOf } from "./redact.ts";

const secrets = secretsOf({
  chains: [
    {
      id: 1,
      name: "mainnet",
      rpc: {
        http: [
          "https://eth.example/v2/k3yk3yk3yk3yk3y9",
          "https://user:pa55@rpc.example",
          "http://localhost:8545",
        ],
        ws: "wss://eth.example/v2/k3yk3yk3yk3yk3y9",
      },
    },
  ],
  databaseUrl: "postgresql://names:p%40ss@db.example:5432/names",
  labelsUrl: "http://localhost:3223",
});

test.each([
  ["URL: https://eth.example/v2/k3yk3yk3yk3yk3y9 failed", "URL: https://eth.example/… failed"],
  ["wss://eth.example/v2/k3yk3yk3yk3yk3y9", "wss://eth.example/…"],
  ["path /v2/k3yk3yk3yk3yk3y9?", "path /v2/…?"],
  ["https://user:pa55@rpc.example/", "https://rpc.example/…"],
  ["connect postgresql://names:p%40ss@db.example:5432/names", "connect postgresql://db.example:5432/…"],
  ['password "p@ss"', 'password "…"'],
])("hides the secret in %j", (line, expected) => {
  expect(redact(line, secrets)).toBe(expected);
});

test.each(["http://localhost:8545/", "http://localhost:3223/v1/config", "schema names", "chain=mainnet"])(
  "leaves %j unchanged",
  (line) => {
    expect(redact(line, secrets)).toBe(line);
  },
);
