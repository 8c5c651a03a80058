// Command null is a driver whose locks and queues are in its own memory: what it costs is what the seam costs. With more than one process it excludes
// nobody, and zkbench says so. With -claims the takes of its queues claim.
package main

import (
	"flag"
	"log"
	"os"

	"github.com/zkbench/zkbench/drivers/serve"
)

func main() {
	claims := flag.Bool("claims", false, "items are claimed by a take and removed by a finish")
	flag.Parse()
	library := serve.InMemory()
	if *claims {
		library = serve.InMemoryClaims()
	}
	if err := serve.Run(os.Stdin, os.Stdout, library); err != nil {
		log.Fatal(err)
	}
}
