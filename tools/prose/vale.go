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

// alerts runs vale over the texts. command is its path, and config that of its configuration.
func alerts(command, config string, texts []text) ([]alert, error) {
	folder, err := os.MkdirTemp("", "prose")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	// vale runs once per folder: 1,000 files at once take it longer than 1,000 files one by one.
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
	out, err := run.Output()
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
