package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// writeProxy writes the published modules into a folder as GOPROXY=file://... reads them
// (go.dev/ref/mod, "GOPROXY protocol").
func (all modules) writeProxy(dir string) error {
	for _, m := range all {
		if !m.published() {
			continue
		}
		if err := m.publish(dir); err != nil {
			return err
		}
	}
	return nil
}

func (m *mod) publish(dir string) error {
	at := filepath.Join(dir, filepath.FromSlash(m.path), "@v")
	if err := os.MkdirAll(at, 0o777); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(m.dir, "go.mod"))
	if err != nil {
		return err
	}
	info, err := json.Marshal(map[string]string{"Version": version, "Time": "2026-01-01T00:00:00Z"})
	if err != nil {
		return err
	}
	err = errors.Join(
		os.WriteFile(filepath.Join(at, "list"), []byte(version+"\n"), 0o666),
		os.WriteFile(filepath.Join(at, version+".info"), info, 0o666),
		os.WriteFile(filepath.Join(at, version+".mod"), text, 0o666),
	)
	if err != nil {
		return err
	}
	archive, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		return err
	}
	return errors.Join(zip.CreateFromDir(archive, module.Version{Path: m.path, Version: version}, m.dir),
		archive.Close())
}
