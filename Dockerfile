# An image of `zskl serve`. It is built from this folder, and runs without root:
#   docker build -t zskl .
#   docker run -p 8000:8000 -e ZSKL_TOKEN=SECRET -v ./models:/models:ro -v zskl:/data zskl /models/birds.zskl
#   docker run -p 8000:8000 -e ZSKL_TOKEN=SECRET zskl --demo
FROM python:3.13-slim AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE MANIFEST.in ./
COPY src src
RUN python -m venv /opt/zskl && /opt/zskl/bin/pip install --no-cache-dir ".[serve]"

FROM python:3.13-slim
LABEL org.opencontainers.image.title="zskl" \
      org.opencontainers.image.description="Zero-shot kernel learning: a service that recognises classes from a description of each"
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin zskl \
    && mkdir /data \
    && chown zskl:zskl /data
COPY --from=build /opt/zskl /opt/zskl
# every option of `zskl serve` has a variable; another host than this machine's own needs ZSKL_TOKEN
ENV PATH=/opt/zskl/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    MPLCONFIGDIR=/tmp/matplotlib \
    NUMBA_CACHE_DIR=/tmp/numba \
    ZSKL_HOST=0.0.0.0 \
    ZSKL_PORT=8000 \
    ZSKL_CLASSES=/data/classes.db \
    ZSKL_ACCESS_LOG=1 \
    ZSKL_JSON_LOGS=1
USER 10001:10001
WORKDIR /data
VOLUME ["/data"]
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ[\"ZSKL_PORT\"]}/v1/health', timeout=4)"]
ENTRYPOINT ["zskl", "serve"]
