#!/bin/sh
# zkServer.sh start-foreground: becomes the server. ZK_SERVER_HEAP is its heap in MB; SERVER_JVMFLAGS and JVMFLAGS go before the class.
set -eu
[ "${1:-}" = start-foreground ] || { echo "usage: zkServer.sh start-foreground" >&2; exit 2; }
# shellcheck disable=SC2086
exec java "-Xmx${ZK_SERVER_HEAP:-1000}m" -Djava.net.preferIPv4Stack=true \
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=$(echo "${ZOO_LOG_LEVEL:-info}" | tr '[:upper:]' '[:lower:]')" \
    -Dorg.slf4j.simpleLogger.showDateTime=true "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSZ" \
    ${SERVER_JVMFLAGS:-} ${JVMFLAGS:-} \
    -cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar:/usr/share/java/servlet-api.jar:/usr/share/java/netty-codec.jar:/usr/share/java/netty-resolver.jar \
    org.apache.zookeeper.server.quorum.QuorumPeerMain "${ZOO_CONF_DIR:-/conf}/zoo.cfg"
