//go:build !linux

package engines

import "os/exec"

// endWithParent: other systems have no such signal; Stop ends the engine.
func endWithParent(*exec.Cmd) {}

func stopCommand(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
