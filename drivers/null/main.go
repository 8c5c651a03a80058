// Command null is a driver whose locks are in its own memory: what it costs is what the seam costs. With more than one process it excludes
// nobody, and zkbench says so.
package main

import (
	"log"
	"os"

	"github.com/zkbench/zkbench/drivers/serve"
)

func main() {
	if err := serve.Run(os.Stdin, os.Stdout, serve.InMemory()); err != nil {
		log.Fatal(err)
	}
}
