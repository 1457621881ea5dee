# A static binary on an empty base; runs as nobody.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /aiperfd ./cmd/aiperfd \
 && mkdir -m 0700 /data && chown 65534:65534 /data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /aiperfd /aiperfd
COPY --from=build --chown=65534:65534 /data /data
USER 65534:65534
VOLUME /data
EXPOSE 9097
HEALTHCHECK --interval=10s --timeout=2s --start-period=5s --retries=3 CMD ["/aiperfd", "healthcheck"]
ENTRYPOINT ["/aiperfd"]
CMD ["serve", "--api-host", "0.0.0.0", "--data-dir", "/data"]
