# docker build -t obsync .
# Any image of Node 24 that is based on Debian.
ARG NODE_IMAGE=docker.io/library/node:24-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY . .
# The files of the npm package, with the dependency as package-lock.json has it.
RUN npm run build \
  && npm pack --silent --ignore-scripts \
  && npm prune --omit=dev --ignore-scripts \
  && mkdir /opt/obsync \
  && tar --extract --file obsync-*.tgz --directory /opt/obsync --strip-components 1 \
  && mv node_modules /opt/obsync
# Only what runs here: no sources of SQLite, and no binaries for other platforms.
WORKDIR /opt/obsync/node_modules/better-sqlite3
RUN rm -r deps src && find prebuilds -type f ! -name "linux*-$(node -p process.arch).node" -delete

FROM ${NODE_IMAGE}
COPY --from=build /opt/obsync /opt/obsync
RUN ln -s /opt/obsync/dist/main.js /usr/local/bin/obsync && install -d -o 1000 -g 1000 /data
# Whatever obsync writes is in /data: the mirror, SQLite's temporary files, and what is left of the quota.
ENV HOME=/data OBSYNC_DB=/data/mirror.db SQLITE_TMPDIR=/data TMPDIR=/data XDG_STATE_HOME=/data/state XDG_CACHE_HOME=/data/cache
# Nobody can reach 127.0.0.1 in a container.
ENV OBSYNC_HOST=0.0.0.0 OBSYNC_METRICS_HOST=0.0.0.0
VOLUME /data
WORKDIR /data
USER 1000:1000
EXPOSE 8484
# For `serve`. Start the other commands with --no-healthcheck.
HEALTHCHECK CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.OBSYNC_PORT ?? 8484}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1))"]
ENTRYPOINT ["obsync"]
CMD ["serve"]
