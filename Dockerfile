# SPDX-License-Identifier: Apache-2.0
# docker build -t neurolens . ; docker run --rm -v "$PWD:/data" neurolens import trace.json.gz
# The first stage builds the tarball that scripts/package makes, the second has nothing else on top of Debian.
FROM debian:12-slim AS build
WORKDIR /src
# What is installed changes less often than the sources, so it is a layer of its own.
COPY scripts/setup.sh scripts/packages.txt scripts/
RUN scripts/setup.sh package
COPY . .
# The time of every file inside. Where .git is not part of the context, give it: --build-arg SOURCE_DATE_EPOCH=...
ARG SOURCE_DATE_EPOCH=
RUN scripts/package tarball && mkdir /opt/neurolens \
    && tar -xzf build/packages/neurolens-*.tar.gz -C /opt/neurolens --strip-components=1

FROM debian:12-slim
COPY --from=build /opt/neurolens /opt/neurolens
RUN ln -s /opt/neurolens/bin/neurolens /opt/neurolens/bin/neurolens-capture /opt/neurolens/bin/neurolens-peaks /usr/local/bin/ \
    && useradd --create-home --uid 1000 neurolens
USER neurolens
WORKDIR /data
ENTRYPOINT ["neurolens"]
CMD ["--help"]
