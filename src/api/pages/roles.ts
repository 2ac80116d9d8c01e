import { html } from "hono/html";
import { account, contract, type Html, shown, table, type View } from "./layout.ts";

/** Roles of an account on a contract of ENSv2 as `/api/permissions` has them. */
export type Permission = {
  contract: { chainId: number; address: string };
  kind: string;
  account: string;
  name?: string;
  roles: string[];
};

/**
 * A role or power in words.
 * @example roleWords("CAN_SET_RESOLVER_ADMIN") // "grant set resolver"
 */
const roleWords = (role: string): string => {
  const [, name = role, admin] = /^(?:CAN_)?(.+?)(_ADMIN)?$/.exec(role) ?? [];
  return `${admin ? "grant " : ""}${name.toLowerCase().replaceAll("_", " ")}`;
};

/** A table of roles in ENSv2. */
export function rolesOf(view: View, permissions: readonly Permission[]): Html {
  const rows = permissions.map((one) => [
    account(view, one.account),
    html`${one.roles.map(roleWords).join(", ")}`,
    one.name === undefined ? html`–` : shown(one.name),
    html`${contract(view, one.contract.chainId, one.contract.address)} (${one.kind})`,
  ]);
  return table("Roles in ENSv2", { head: ["Account", "May", "Name", "Contract"], rows });
}
