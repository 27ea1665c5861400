package engines

import (
	"fmt"
	"os"
	"path/filepath"
)

// cacheDir is the folder of fetched engines.
func cacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		// No home: a folder that at least this machine's runs share.
		dir = os.TempDir()
	}
	dir = filepath.Join(dir, "itemize")
	return dir, os.MkdirAll(dir, 0o777)
}

// cached returns the folder of something fetched before, or "".
func cached(name string) string {
	dir, err := cacheDir()
	if err != nil {
		return ""
	}
	dir = filepath.Join(dir, name)
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

// fetch returns the folder of that name in the cache. If there is none yet, it
// says what it fetches and calls get with a folder to fill. Several programs
// may fetch at once: one does, the others wait, and a half-filled folder is never
// taken for a whole one.
func fetch(name, what string, get func(dir string) error) (string, error) {
	if dir := cached(name); dir != "" {
		return dir, nil
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(cache, name+".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if dir := cached(name); dir != "" {
		return dir, nil
	}
	fmt.Fprintf(os.Stderr, "itemize: fetching %s into %s, once\n", what, cache)
	tmp, err := os.MkdirTemp(cache, name+".tmp")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	if err := get(tmp); err != nil {
		return "", fmt.Errorf("fetch %s: %w", what, err)
	}
	dir := filepath.Join(cache, name)
	return dir, os.Rename(tmp, dir)
}
