-- The roles of compose.yaml, for psql: `indexer` owns the database, `reader` and `exporter` read what it creates. Postgres' container
-- runs this for a new volume, on the database that it has just created.
\set ON_ERROR_STOP on
\getenv indexer_password INDEXER_PASSWORD
\getenv reader_password READER_PASSWORD
\getenv exporter_password EXPORTER_PASSWORD

BEGIN;
-- It sees by whom an index is used.
CREATE ROLE indexer LOGIN PASSWORD :'indexer_password' IN ROLE pg_read_all_stats, pg_read_all_settings;
-- Its builds of indexes give way to maintenance.
GRANT SET ON PARAMETER deadlock_timeout TO indexer;
CREATE ROLE reader LOGIN PASSWORD :'reader_password';
CREATE ROLE exporter LOGIN PASSWORD :'exporter_password';
ALTER ROLE reader SET default_transaction_read_only = on;
ALTER ROLE exporter SET default_transaction_read_only = on;

SELECT format('ALTER DATABASE %I OWNER TO indexer', current_database()) \gexec
SELECT format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database()) \gexec
SELECT format('GRANT CONNECT ON DATABASE %I TO reader, exporter', current_database()) \gexec
ALTER DEFAULT PRIVILEGES FOR ROLE indexer GRANT USAGE ON SCHEMAS TO reader, exporter;
ALTER DEFAULT PRIVILEGES FOR ROLE indexer GRANT SELECT ON TABLES TO reader, exporter;
COMMIT;
