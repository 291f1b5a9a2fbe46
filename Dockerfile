# The command line in a slim image, run by a user without privileges:
#
#   docker build -t omnigraph .
#   docker run --rm -v "$PWD:/data" omnigraph health harbor.omni
#
# With `--target server` it is the server instead, with its health check:
#
#   docker build --target server -t omnigraph-server .
#   docker run --rm -p 8080:8080 -v "$PWD/museum:/data" -v "$PWD/tokens.json:/run/tokens.json:ro" omnigraph-server
#
# The user has the id 1000, which must be able to write to what is mounted; `--user` chooses another.
# It runs everything in process. For Spark, build on top of it and add Java 17 and `pip install 'omnigraph[spark]'`.
FROM python:3.12-slim AS packages
WORKDIR /src
RUN python -m venv /opt/omnigraph
COPY requirements.lock ./
RUN /opt/omnigraph/bin/pip install --no-cache-dir --require-hashes -r requirements.lock

FROM packages AS build
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN /opt/omnigraph/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

# Everything that a setting of the server can ask for: the console, traces, tokens of AWS, tools for agents.
FROM packages AS build-server
COPY requirements-server.lock ./
RUN /opt/omnigraph/bin/pip install --no-cache-dir --require-hashes -r requirements-server.lock
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN /opt/omnigraph/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.12-slim AS server
COPY --from=build-server /opt/omnigraph /opt/omnigraph
RUN useradd --create-home --uid 1000 omnigraph && mkdir /data && chown omnigraph /data
# What /healthz says it was built from: docker build --build-arg SOURCE_VERSION=$(git rev-parse HEAD) …
ARG SOURCE_VERSION=""
ENV PATH="/opt/omnigraph/bin:$PATH" \
    OMNIGRAPH_SOURCE_VERSION=$SOURCE_VERSION \
    OMNIGRAPH_CLUSTER=/data \
    OMNIGRAPH_BIND=0.0.0.0:8080 \
    OMNIGRAPH_LOG_FORMAT=json \
    OMNIGRAPH_SERVER_BEARER_TOKENS_FILE=/run/tokens.json
USER 1000
WORKDIR /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/readyz', timeout=2)"]
ENTRYPOINT ["omnigraph-server"]

FROM python:3.12-slim AS cli
COPY --from=build /opt/omnigraph /opt/omnigraph
RUN useradd --create-home --uid 1000 omnigraph && mkdir /data && chown omnigraph /data
ENV PATH="/opt/omnigraph/bin:$PATH"
USER 1000
WORKDIR /data
ENTRYPOINT ["omnigraph"]
CMD ["--help"]
