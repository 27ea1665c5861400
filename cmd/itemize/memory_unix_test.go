//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// memoryOf returns the largest memory of an ended process, in bytes.
func memoryOf(p *os.ProcessState) int {
	usage, _ := p.SysUsage().(*syscall.Rusage)
	if usage == nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int(usage.Maxrss)
	}
	return int(usage.Maxrss) << 10
}
