# The command line in a slim image, run by a user without privileges:
#
#   docker build -t omnigraph .
#   docker run --rm -v "$PWD:/data" omnigraph health harbor.omni
#
# It runs everything in process. For Spark, build on top of it and add Java 17 and `pip install 'omnigraph[spark]'`.
FROM python:3.12-slim AS build
WORKDIR /src
RUN python -m venv /opt/omnigraph
COPY requirements.lock ./
RUN /opt/omnigraph/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN /opt/omnigraph/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.12-slim
COPY --from=build /opt/omnigraph /opt/omnigraph
RUN useradd --create-home --uid 1000 omnigraph && mkdir /data && chown omnigraph /data
ENV PATH="/opt/omnigraph/bin:$PATH"
USER omnigraph
WORKDIR /data
ENTRYPOINT ["omnigraph"]
CMD ["--help"]
