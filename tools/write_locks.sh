#!/usr/bin/env bash
# Resolves the dependencies into requirements/lock.txt (to run), requirements/dev.txt (to develop as well) and
# requirements/agents.txt (what is installed without all that it requires). None names an index address; all hold
# the hashes of every file of every pinned version. Needs uv.
set -euo pipefail
cd "$(dirname "$0")/.."
compile() {
    "${UV:-uv}" pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --no-header --no-annotate --no-emit-index-url --no-emit-find-links "$@"
}
compile pyproject.toml requirements/build.in --extra remote --extra otel --output-file requirements/lock.txt
compile pyproject.toml requirements/build.in --extra remote --extra otel --group dev \
    --constraint requirements/lock.txt --output-file requirements/dev.txt
# What the tests install beside the environment: of Milvus Lite only what is not there already.
compile requirements/milvus.in --constraint requirements/dev.txt --output-file requirements/milvus.txt \
    $(sed -n 's/^\([A-Za-z0-9._-]*\)==.*/--no-emit-package \1/p' requirements/dev.txt)
compile --no-deps requirements/agents.in --output-file requirements/agents.txt
