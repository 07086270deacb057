// Writes what it reads as a container runtime would: `container-logs docker FILE` by Docker's json-file driver with its
// copier, `container-logs cri FILE` by containerd's CRI logger. Standard input is the container's standard output.
package main

import (
	"io"
	"log"
	"os"
	"time"

	cri "github.com/containerd/containerd/pkg/cri/io"
	"github.com/docker/docker/daemon/logger"
	"github.com/docker/docker/daemon/logger/jsonfilelog"
)

// containerd's default `max_container_log_line_size`.
const criLine = 16 * 1024

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: container-logs docker|cri FILE < OUTPUT")
	}
	switch os.Args[1] {
	case "docker":
		docker(os.Args[2])
	case "cri":
		containerd(os.Args[2])
	default:
		log.Fatal("docker or cri")
	}
}

func docker(path string) {
	driver, err := jsonfilelog.New(logger.Info{LogPath: path, ContainerID: "0123456789ab", Config: map[string]string{}})
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

func containerd(path string) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	writer, done := cri.NewCRILogger(path, file, cri.Stdout, criLine)
	if _, err := io.Copy(writer, os.Stdin); err != nil {
		log.Fatal(err)
	}
	_ = writer.Close()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		log.Fatal("the logger does not end")
	}
	if err := file.Close(); err != nil {
		log.Fatal(err)
	}
}
