# A static binary on an empty base; runs as nobody. `make docker` builds it.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
ENV GOCACHE=/go/cache
COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
ARG REVISION
ARG COMMIT_DATE
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/go/cache \
    GOOS=$TARGETOS GOARCH=$TARGETARCH scripts/image.sh /image

FROM scratch
COPY --from=build /image/system/ /
COPY --from=build --chown=65534:65534 /image/nobody/ /
ARG VERSION=dev
ARG REVISION
ARG COMMIT_DATE
LABEL org.opencontainers.image.title="aiperfd" \
      org.opencontainers.image.description="Benchmarks LLM inference servers" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$COMMIT_DATE"
# serve, token and healthcheck read these, so that the check follows --api-port, too.
# The daemon listens on all addresses of the container, so it needs tokens: make one with
# "token new", or set AIPERFD_TOKEN_FILE= and pass --insecure-no-auth.
ENV AIPERFD_API_HOST=0.0.0.0 AIPERFD_DATA_DIR=/data AIPERFD_PORT_FILE=/data/aiperfd.port AIPERFD_TOKEN_FILE=/data/tokens HOME=/tmp
USER 65534:65534
VOLUME /data
# Where profile writes its artifacts folder.
WORKDIR /out
EXPOSE 9097
HEALTHCHECK --interval=10s --timeout=2s --start-period=5s --retries=3 CMD ["/aiperfd", "healthcheck"]
ENTRYPOINT ["/aiperfd"]
CMD ["serve"]
