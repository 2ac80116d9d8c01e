import { createHash } from "node:crypto";

type Operation = {
  parameters?: { name: string; in: string }[];
  responses?: Record<string, object>;
};
type Document = { paths: Record<string, Record<string, Operation>> };

const hash = (value: unknown) =>
  createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 12);

/**
 * An OpenAPI document in lines that a review can read: each operation with its parameters and responses, and a hash of
 * what each says.
 */
export function digestOpenApi({ paths, ...rest }: Document): string {
  const lines = [`document ${hash(rest)}`];
  for (const [path, operations] of Object.entries(paths))
    for (const [method, { responses = {}, ...operation }] of Object.entries(operations)) {
      const parameters = operation.parameters?.map(({ name }) => name).join(", ") ?? "";
      lines.push("", `${method.toUpperCase()} ${path} (${parameters}) ${hash(operation)}`);
      for (const [status, response] of Object.entries(responses)) lines.push(`  ${status} ${hash(response)}`);
    }
  return `${lines.join("\n")}\n`;
}
