module container-logs

go 1.25

require (
	github.com/containerd/containerd v1.7.29
	github.com/docker/docker v28.5.2+incompatible
)
