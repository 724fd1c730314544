# The release image. goreleaser lays the binaries beside this file, one folder a
# platform; nothing runs in the build, so any machine builds for any platform.
# The base has certificates for webhooks over TLS, time zones and /tmp, no shell.
FROM gcr.io/distroless/static-debian12:nonroot AS base

FROM base
ARG TARGETPLATFORM
COPY $TARGETPLATFORM/kernelctl /usr/bin/kernelctl
# An empty folder of the user's own: a new volume takes its owner from it.
COPY --from=base --chown=65532:65532 /home/nonroot /data
USER 65532:65532
WORKDIR /data
VOLUME /data
EXPOSE 8080
# Every interface, as a container must; serve refuses to start without a token.
# HOME is for the command line, which looks for its settings there.
ENV SERVICE_LISTEN=0.0.0.0:8080 SERVICE_DB=/data/kernel.db HOME=/home/nonroot
ENTRYPOINT ["/usr/bin/kernelctl"]
CMD ["serve"]
