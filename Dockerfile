# SPDX-License-Identifier: Apache-2.0
# herdgate in a container: docker build -t herdgate . (README.md, Installing)
# The first stage builds the Debian packages as scripts/package does anywhere, the second installs the server's.

FROM debian:12-slim AS build
WORKDIR /src
COPY scripts/deps scripts/deps
RUN scripts/deps build
COPY . .
RUN scripts/package

FROM debian:12-slim
COPY --from=build /src/build/deb/herdgate_*.deb /tmp/
# Without systemd: the package is content with the small program that makes its user.
RUN apt-get -q update \
    && apt-get -q install --yes --no-install-recommends systemd-standalone-sysusers /tmp/herdgate_*.deb \
    && rm -r /tmp/herdgate_*.deb /var/lib/apt/lists/*
# What the unit's RuntimeDirectory and StateDirectory are elsewhere.
RUN install -d -o herdgate -g herdgate -m 0750 /run/herdgate \
    && install -d -o herdgate -g herdgate -m 0700 /var/lib/herdgate
USER herdgate
VOLUME ["/run/herdgate", "/var/lib/herdgate"]
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["herdgate", "health"]
ENTRYPOINT ["herdgated"]
CMD ["-c", "/etc/herdgate/herdgated.conf"]
