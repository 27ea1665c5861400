package engines

import (
	"os/exec"
	"syscall"
)

func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}

func stopCommand(cmd *exec.Cmd) { _ = cmd.Process.Signal(syscall.SIGTERM) }
