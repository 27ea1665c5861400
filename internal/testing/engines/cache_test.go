package engines

import (
	"os"
	"testing"
)

// A half-fetched folder is never taken for a whole one, and two programs that fetch get one folder.
func TestFetch(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	calls := 0
	get := func(fail bool) func(string) error {
		return func(dir string) error {
			calls++
			if err := os.WriteFile(dir+"/file", nil, 0o666); err != nil || !fail {
				return err
			}
			return os.ErrDeadlineExceeded
		}
	}
	if _, err := fetch("thing", "a thing", get(true)); err == nil {
		t.Error("a failed fetch succeeded")
	}
	if cached("thing") != "" {
		t.Error("a failed fetch was kept")
	}
	for range 2 {
		if _, err := fetch("thing", "a thing", get(false)); err != nil {
			t.Error(err)
		}
	}
	if calls != 2 {
		t.Errorf("fetched %d times", calls)
	}
}
