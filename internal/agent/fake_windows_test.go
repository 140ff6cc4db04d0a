package agent

import "os/exec"

func ownSession(*exec.Cmd) {}
