// Package browser opens the pages of the command itemize in Chromium: what they draw, ask for, and print to the console.
package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const workload = `{
	"name": "</title><script>alert(1)</script>",
	"attributes": [
		{"name": "email", "sizes": [25]}, {"name": "<img src=x onerror=alert(2)>", "sizes": [45000]},
		{"name": "visits", "elements": {"counts": [80], "attributes": [{"name": "at", "sizes": [22]}, {"name": "note", "sizes": [310]}]}}
	],
	"operations": [
		{"name": "change </script><script>alert(3)</script>", "perMonth": 1000, "writes": ["email"]},
		{"name": "a visit", "perMonth": 30, "add": {"visits": 1}}, {"name": "open it", "perMonth": 50, "all": true}
	],
	"layouts": [{"name": "by hand </script>", "items": [["email"], ["<img src=x onerror=alert(2)>"]], "elements": ["visits"]}]
}`

// pages writes a page of a forecast, one of an advice and one of a discovery, and returns their folder.
func pages(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	itemize := filepath.Join(dir, "itemize")
	command := func(at, name string, args ...string) {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir, c.Env = at, append(os.Environ(), "GOWORK=")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
	}
	command("../../../cmd/itemize", "go", "build", "-o", itemize, ".")
	if err := os.WriteFile(filepath.Join(dir, "w.json"), []byte(workload), 0o600); err != nil {
		t.Fatal(err)
	}
	command(dir, itemize, "cost", "forecast", "-html", "forecast.html", "w.json")
	command(dir, itemize, "cost", "advise", "-html", "advice.html", "w.json")
	document, err := filepath.Abs("../../../examples/packages/testdata/express.json")
	if err != nil {
		t.Fatal(err)
	}
	command(dir, itemize, "discover", "-html", "discover.html", document)
	return dir
}

// visit is what a page did.
type visit struct {
	mu       sync.Mutex
	requests []string
	messages []string
}

func (v *visit) note(event any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		v.requests = append(v.requests, e.Request.URL)
	case *log.EventEntryAdded:
		v.messages = append(v.messages, e.Entry.Text)
	case *runtime.EventConsoleAPICalled:
		v.messages = append(v.messages, fmt.Sprint("console: ", e.Type))
	case *runtime.EventExceptionThrown:
		v.messages = append(v.messages, e.ExceptionDetails.Text)
	}
}

// Each page, wide and narrow, light and dark: it draws its charts, scripts in names do nothing, a click hides a line, the
// page is not wider than the window, nothing is printed to the console, and nothing is asked for elsewhere.
func TestPages(t *testing.T) {
	dir := pages(t)
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.NoSandbox)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	for _, name := range []string{"forecast.html", "advice.html", "discover.html"} {
		for _, width := range []int64{1280, 360} {
			for _, scheme := range []string{"light", "dark"} {
				if name == "advice.html" && (width == 1280) != (scheme == "light") {
					continue // it has the parts of a forecast
				}
				t.Run(fmt.Sprint(name, " ", width, " ", scheme), func(t *testing.T) {
					ctx, cancel := chromedp.NewContext(allocator)
					defer cancel()
					ctx, cancel = context.WithTimeout(ctx, time.Minute)
					defer cancel()
					v := &visit{}
					chromedp.ListenTarget(ctx, v.note)
					look(t, ctx, server.URL+"/"+name, width, scheme)
					v.mu.Lock()
					defer v.mu.Unlock()
					for _, url := range v.requests {
						if url != server.URL+"/"+name && !strings.HasPrefix(url, "data:") {
							t.Errorf("the page asks for %s", url)
						}
					}
					if len(v.messages) > 0 {
						t.Errorf("messages of the console: %q", v.messages)
					}
				})
			}
		}
	}
}

// look opens a page and uses it.
func look(t *testing.T, ctx context.Context, url string, width int64, scheme string) {
	t.Helper()
	var drawn, figures, scripts, off, overflow int
	var background string
	var screenshot []byte
	err := chromedp.Run(ctx,
		log.Enable(), network.Enable(), runtime.Enable(),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.EmulateViewport(width, 900),
		chromedp.Navigate(url),
		chromedp.WaitVisible("figure canvas"),
		chromedp.Evaluate(`document.querySelectorAll("figure[data-chart]").length`, &figures),
		chromedp.Evaluate(`document.querySelectorAll("figure[data-drawn] canvas").length`, &drawn),
		chromedp.Evaluate(`document.querySelectorAll("script").length - document.querySelectorAll("figure script").length`,
			&scripts),
		chromedp.Evaluate(`document.documentElement.scrollWidth - window.innerWidth`, &overflow),
		chromedp.Evaluate(`getComputedStyle(document.body).backgroundColor`, &background),
		chromedp.Click("figure .u-legend .u-series:nth-child(2) .u-marker"),
		chromedp.Evaluate(`document.querySelectorAll("figure .u-legend .u-off").length`, &off),
		chromedp.FullScreenshot(&screenshot, 100),
	)
	if err != nil {
		t.Fatal(err)
	}
	if figures == 0 || drawn != figures {
		t.Errorf("%d charts of %d are drawn", drawn, figures)
	}
	if scripts != 1 {
		t.Errorf("%d scripts; want the page's own", scripts)
	}
	if off != 1 {
		t.Errorf("a click on the legend hides %d lines", off)
	}
	if overflow > 0 {
		t.Errorf("the page is %d pixels wider than the window", overflow)
	}
	if want := map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}[scheme]; background != want {
		t.Errorf("the background is %s; want %s", background, want)
	}
	if folder := os.Getenv("ITEMIZE_SCREENSHOTS"); folder != "" {
		name := strings.NewReplacer(" ", "-", "/", "-").Replace(t.Name()) + ".png"
		if err := os.WriteFile(filepath.Join(folder, name), screenshot, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
