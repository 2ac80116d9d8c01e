import pg from "pg";

/**
 * A connection to a pooler that lends a session of the server to one transaction at a time. It sets nothing on a
 * session: neither once it is connected, as Ponder's own connections do, nor by parameters of its start, which
 * PgBouncer refuses. Statements that are sent together are one round trip.
 */
export class PooledConnection extends pg.Client {
  constructor(options: pg.ClientConfig = {}) {
    // node-postgres hides the password from copies.
    const { password } = options;
    super({ ...options, password, statement_timeout: false, pipeline: true } as pg.ClientConfig);
  }
}
