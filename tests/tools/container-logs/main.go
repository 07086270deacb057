// Writes its standard input to a file as Docker writes a container's standard output: by its own copier and its own
// json-file driver. Built against Debian's golang-github-docker-docker-dev, see README.md.
package main

import (
	"io"
	"log"
	"os"

	"github.com/docker/docker/daemon/logger"
	"github.com/docker/docker/daemon/logger/jsonfilelog"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: container-logs FILE < OUTPUT")
	}
	driver, err := jsonfilelog.New(logger.Info{LogPath: os.Args[1], ContainerID: "0123456789ab", Config: map[string]string{}})
	if err != nil {
		log.Fatal(err)
	}
	copier := logger.NewCopier(map[string]io.Reader{"stdout": os.Stdin}, driver)
	copier.Run()
	copier.Wait()
	if err := driver.Close(); err != nil {
		log.Fatal(err)
	}
}
