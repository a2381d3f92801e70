#!/usr/bin/env bash
# Builds the image of the Dockerfile for `npm run test:packaging`, without a container engine: on OBSYNC_TEST_NODE_IMAGE,
# or on a stand-in for node:24-slim made of the Debian of this machine and the Node of package-lock.json.
set -euo pipefail
cd "$(dirname "$0")/../.."

need() {
  "${@:2}" > /dev/null 2>&1 || { echo "test:packaging needs $1" >&2 && exit 1; }
}
need 'root: it mounts the file system of the image read-only' test "$(id -u)" = 0
need 'buildah: apt-get install buildah' command -v buildah

# Images without a name would remain of each run.
buildah rmi --force localhost/obsync-test localhost/obsync-test-node > /dev/null 2>&1 || true
base=${OBSYNC_TEST_NODE_IMAGE:-}
if [ -z "$base" ]; then
  need 'OBSYNC_TEST_NODE_IMAGE=docker.io/library/node:24-slim, or mmdebstrap: apt-get install mmdebstrap' command -v mmdebstrap
  debian=localhost/obsync-test-debian
  if ! buildah inspect --type image $debian > /dev/null 2>&1; then
    container=$(buildah from scratch)
    mmdebstrap --quiet --variant=essential --include=libstdc++6 --dpkgopt='path-exclude=/usr/share/doc/*' \
      --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
      "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$(buildah mount "$container")"
    buildah umount "$container"
    buildah commit --quiet --rm "$container" $debian
  fi
  base=localhost/obsync-test-node
  npm=$(realpath "$(command -v npm)")
  certificates=/etc/ssl/certs/ca-certificates.crt
  container=$(buildah from $debian)
  buildah copy --quiet "$container" node_modules/node/bin/node /usr/local/bin/node
  buildah copy --quiet "$container" "${npm%/bin/npm-cli.js}" /usr/local/lib/node_modules/npm
  buildah copy --quiet "$container" $certificates $certificates
  buildah run --isolation chroot "$container" -- ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
  buildah config --env NODE_EXTRA_CA_CERTS=$certificates "$container"
  buildah commit --quiet --rm "$container" $base
fi
echo "test:packaging builds on $base"
# The OCI format has no HEALTHCHECK.
buildah build --quiet --isolation chroot --format docker --build-arg "NODE_IMAGE=$base" --tag localhost/obsync-test .
