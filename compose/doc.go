// Package compose is the files that describe ensembles in containers, for docker-compose 1.29 and docker compose 2: ensembles of 1, 3 and
// 5 servers, one with an observer, and what goes beside them, Prometheus with Grafana and the load generator. docs/containers.md says how
// they are used. The image of a server that image/ builds, and that of the generator in generator/, are for make. fleet/ has what starts one run on
// many hosts, as 'zkbench fleet' prints it; docs/fleet.md is about it.
package compose
