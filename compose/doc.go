// Package compose is the files that describe ensembles in containers, for docker-compose and docker compose.
package compose
