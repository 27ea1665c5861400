package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// alert is a finding of vale.
type alert struct {
	text    *text
	Line    int
	Check   string
	Message string
	Match   string
}

func (a alert) String() string {
	return fmt.Sprintf("%s:%d: %s [%s]", a.text.file, a.text.line(a.Line), a.Message, a.Check)
}

// alerts runs vale over the texts. It needs cgo, and the folder tools or one in it as the working directory.
func alerts(texts []text) ([]alert, error) {
	build := exec.Command("go", "tool", "-n", "vale")
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	out, err := build.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("building vale: %w: %s", err, exit.Stderr)
	} else if err != nil {
		return nil, err
	}
	command := strings.TrimSpace(string(out))
	config, err := configuration()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "prose")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	byName := map[string]*text{}
	for i := range texts {
		name := fmt.Sprintf("%05d.md", i)
		byName[name] = &texts[i]
		if err := os.WriteFile(filepath.Join(folder, name), texts[i].body, 0o600); err != nil {
			return nil, err
		}
	}
	run := exec.Command(command, "--no-wrap", "--output", "JSON", "--config", config, folder)
	var stderr bytes.Buffer
	run.Stderr = &stderr
	out, err = run.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		return nil, fmt.Errorf("vale: %w: %s%s", err, stderr.Bytes(), out)
	}
	var found map[string][]alert
	if err := json.Unmarshal(out, &found); err != nil {
		return nil, fmt.Errorf("vale: the output: %w", err)
	}
	var all []alert
	for name, list := range found {
		for _, a := range list {
			a.text = byName[filepath.Base(name)]
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b alert) int {
		if c := strings.Compare(a.text.file, b.text.file); c != 0 {
			return c
		}
		return a.text.line(a.Line) - b.text.line(b.Line)
	})
	return all, nil
}

// configuration returns the path of vale.ini.
func configuration() (string, error) {
	module, err := exec.Command("go", "env", "GOMOD").Output()
	return filepath.Join(filepath.Dir(strings.TrimSpace(string(module))), "prose", "vale.ini"), err
}
