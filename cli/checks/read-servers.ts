import type { Config } from "../../src/config/environment.ts";
import { seeOperations } from "../../src/log/json-log.ts";
import { withServers } from "../standbys.ts";
import { about, type Finding } from "./finding.ts";

const section = seeOperations("Readers on standbys");

/** Checks the servers that a reader reads from: that one responds, and that all are of one database system. */
export async function examineReadServers({ readUrls }: Pick<Config, "readUrls">): Promise<Finding[]> {
  if (readUrls.length === 0) return [];
  const { ok, fail, warning, away } = about("servers");
  return withServers(readUrls, async (servers, missing) => {
    const [first] = servers;
    if (first === undefined)
      return [
        away(
          `No server of DATABASE_READ_URLS responds: ${missing.join("; ")}`,
          "Start one, or correct DATABASE_READ_URLS.",
        ),
      ];
    const others = servers.filter(({ system }) => system !== first.system).map(({ place }) => place);
    if (others.length > 0)
      return [
        fail(
          `DATABASE_READ_URLS names servers of several database systems: ${others.join(", ")} and ${first.place} follow no common primary`,
          "Name one primary and its standbys.",
          section,
        ),
      ];
    return [
      ok(servers.map(({ place, isStandby }) => `${place} (${isStandby ? "standby" : "primary"})`).join(", ")),
      ...missing.map((one) =>
        warning(`${one} of DATABASE_READ_URLS does not respond`, "It is read once it does.", section),
      ),
    ];
  });
}

/**
 * The URL of the server that a reader begins with: the one that is furthest, else the first; of one server that of the
 * database.
 */
export async function findNearestUrl({ readUrls, databaseUrl }: Pick<Config, "readUrls" | "databaseUrl">) {
  if (readUrls.length === 0) return databaseUrl;
  return withServers(readUrls, async (servers) => {
    const [furthest] = servers.toSorted((one, other) => other.position - one.position);
    return furthest?.url ?? databaseUrl;
  });
}
